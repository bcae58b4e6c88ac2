# SPDX-License-Identifier: Apache-2.0
"""The names of findings: short, unique, and the same after a new ranking or a harmless edit."""

import pytest

from unsnarl.analyses.answer import Answer, Line
from unsnarl.model.event import Op
from unsnarl.model.report import Finding, NumberedFinding
from unsnarl.model.site import Point, Site
from unsnarl.model.sources import Sources
from unsnarl.reports import finding_ids

SOURCE = "class Queue:\n    def size(self):\n        return self.a + self.b\n"
EDITED = "import os\n\nclass Queue:\n    def size(self):\n      return self.a  + self.b\n"
BOOM = "ValueError in q.py:size"


class Table:
    def __init__(self, *points):
        self._points = points

    def point(self, index):
        return self._points[index]


def at(line, column, op=Op.READ, file="q.py"):
    return Point(Site(file, "Queue.size", line, line, column, column + 6, "attr_read", "a"), op)


def answer(*lines, score=1.0):
    made = tuple(Line(point, "body", role, 1.0, 0.0, 1.0, 1.0, role) for point, role in lines)
    return Answer("joined", score, {}, made, (0,), 0, {})


def hashes(tmp_path, answers, table, source=SOURCE, signature=BOOM):
    (tmp_path / "q.py").write_text(source)
    return finding_ids.digests(signature, answers, table, Sources(tmp_path))


READS = Table(at(3, 15), at(3, 24))


def test_neither_rank_nor_score_matter(tmp_path):
    one, other = answer((0, 1)), answer((0, 1), (1, 2))
    before = hashes(tmp_path, [one, other], READS)
    again = [answer((0, 1), (1, 2), score=9.0), answer((0, 1), score=0.1)]
    assert hashes(tmp_path, again, READS) == before[::-1]


def test_lines_may_move_and_be_indented_otherwise(tmp_path):
    moved = Table(at(5, 13), at(5, 23))
    answers = [answer((0, 1), (1, 2))]
    assert hashes(tmp_path, answers, READS) == hashes(tmp_path, answers, moved, EDITED)


@pytest.mark.parametrize(
    ("table", "lines", "signature"),
    [
        (READS, [(1, 1)], BOOM),
        (READS, [(0, 2)], BOOM),
        (READS, [(0, 1), (0, 1)], BOOM),
        (READS, [(0, 1)], "KeyError in q.py:size"),
        (Table(at(3, 15, Op.WRITE)), [(0, 1)], BOOM),
        (Table(at(3, 15, file="r.py")), [(0, 1)], BOOM),
        (Table(at(2, 4)), [(0, 1)], BOOM),
    ],
)
def test_what_is_claimed_matters(tmp_path, table, lines, signature):
    (first,) = hashes(tmp_path, [answer((0, 1))], READS)
    assert hashes(tmp_path, [answer(*lines)], table, signature=signature) != [first]


def test_answers_that_claim_the_same_are_still_told_apart(tmp_path):
    first, second, third = hashes(tmp_path, [answer((0, 1))] * 3, READS)
    assert len({first, second, third}) == 3


def test_digits_are_added_until_all_names_differ():
    assert finding_ids.names(["a", "b", "c"], ["abcd1234", "abcd1299", "12345678"]) == [
        "a-abcd123",
        "b-abcd129",
        "c-1234",
    ]


@pytest.mark.parametrize(
    ("variables", "word"),
    [
        (["Queue.length"], "length"),
        (["main::queue.blocks"], "blocks"),
        (["Cache.entries['tea.cup']", "other"], "entries"),
        (["Account.lock #2"], "lock"),
        (["head->next_node"], "next-node"),
        (["Total_Of_All_The_Long_Names"], "total-of-all-the"),
        (["[0]", "good"], "good"),
        (["名前"], "order"),
        ([], "order"),
    ],
)
def test_the_word_comes_from_the_first_variable_that_has_letters(variables, word):
    assert finding_ids.word(variables, "order") == word


def findings(*names):
    empty = Finding(1, "joined", 1.0, {}, "order", (), (), 1)
    fields = {name: getattr(empty, name) for name in empty.__struct_fields__}
    made = [Finding(**{**fields, "id": name}) for name in names]
    return [NumberedFinding(number, None, one) for number, one in enumerate(made, 1)]


@pytest.mark.parametrize(
    ("word", "number"),
    [
        ("1", 1),
        ("2", 2),
        ("length-7c1e", 1),
        ("LENGTH-7C1E", 1),
        ("7c1e", 1),
        ("size-7c1e", 1),
        ("7c1e55", 1),
        ("1234", 3),
        ("ab", None),
        ("abcd", None),
        ("abcd1", 2),
        ("4", 4),
        ("9", None),
        ("nothing", None),
    ],
)
def test_a_finding_is_found_by_number_name_or_digits(word, number):
    known = findings("length-7c1e", "size-abcd1", "lock-1234", "size-abcd2")
    found = finding_ids.find(word, known)
    assert (found and found.number) == number


def test_findings_without_names_are_found_by_number_only():
    known = findings("", "")
    assert finding_ids.find("2", known).number == 2
    assert finding_ids.find("length-7c1e", known) is None
