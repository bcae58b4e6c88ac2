# SPDX-License-Identifier: Apache-2.0
"""The pure parts of the evaluation of proofs: is the fix the true one, are the bars met."""

import dataclasses
from types import SimpleNamespace

import pytest
from evaluation import challenges, proof_bars, proof_page
from evaluation.proof_results import Proved, ProvedZoo
from evaluation.repairs import contains
from evaluation.truth import Bug, Cause, TruePoint
from msgspec.structs import replace

from unsnarl.analyses.answer import Answer, Line
from unsnarl.experiments.arms import NO_ARM
from unsnarl.experiments.confirm import Verdict
from unsnarl.experiments.prove import Experiments, Proven
from unsnarl.model.event import Op
from unsnarl.model.report import Finding, FindingPoint, Fix, SourceLine
from unsnarl.model.site import Point, Site

SIZE, TAKE, TEST = "return self.qsize", "self.qsize -= 1", "if self.qsize == 0:"
SPIDER = "\n".join(["", "", SIZE, "", TEST, "", TAKE])  # by the lines of POINTS


def true(function, text, op, role):
    return TruePoint("spider.py", function, text, op, role)


ATOMIC = Cause(
    "s",
    (
        true("Queue.size", SIZE, "read", 1),
        true("Queue.take", TAKE, "write", 2),
        true("Queue.take", TEST, "read", 1),
    ),
)
ORDER = Cause("s", (true("Queue.take", TEST, "read", 1), true("Queue.take", TAKE, "write", 2)))
BUG = Bug("spider", "", "atomicity", "gil", (), (), "", (ATOMIC,))


def point(line, function, text, op, role, *stack):
    return FindingPoint(
        "spider.py", line, function, f"0.{role}", role, op, "", "body", 1.0, text=text, stack=stack
    )


POINTS = (
    point(3, "Queue.size", SIZE, "read", 1, "spider.py:20 in work"),
    point(7, "Queue.take", TAKE, "write", 2, "spider.py:21 in work"),
    point(5, "Queue.take", TEST, "read", 1, "spider.py:21 in work"),
)


def finding(kind, begin, end, function="", others=()):
    places = [SourceLine("spider.py", line, function) for line in (begin, end)]
    fix = Fix(kind, *places, function=function, others=others, runs=200)
    return Finding(1, "joined", 1.0, {}, "atomicity", (), POINTS, 1, fix=fix)


@pytest.mark.parametrize(
    ("begin", "end", "function", "right"),
    [
        (20, 21, "work", True),  # the calls
        (19, 24, "work", True),  # more than needed
        (21, 21, "work", False),  # without the first call
        (20, 21, "other", False),
        (3, 5, "", True),  # from one function into another
        (3, 7, "", False),
    ],
)
def test_a_region_must_have_the_first_and_the_last_access(begin, end, function, right):
    assert contains(BUG, ATOMIC, finding("region", begin, end, function)) is right


def test_an_order_must_put_first_what_came_too_late():
    assert contains(BUG, ORDER, finding("order", 7, 5))
    assert not contains(BUG, ORDER, finding("order", 5, 7))


def test_a_region_for_an_order_must_keep_the_other_side_out():
    assert contains(BUG, ORDER, finding("region", 5, 5, "Queue.take", ("spider.py:7",)))
    assert not contains(BUG, ORDER, finding("region", 5, 5, "Queue.take", ("spider.py:8-9",)))


def test_without_a_fix_nothing_is_contained():
    bare = Finding(1, "joined", 1.0, {}, "atomicity", (), POINTS, 1)
    assert not contains(BUG, ATOMIC, bare)


@pytest.mark.parametrize(
    ("order", "threads", "has"),
    [
        ((0, 1, 2), (1, 2, 1), True),
        ((0, 1), (1, 2), True),
        ((1, 2), (1, 2), True),
        ((0, 1), (1, 1), False),  # by one thread
        ((1, 0), (2, 1), False),  # the wrong way round
        ((0, 2), (1, 1), False),  # without the other thread
        ((1,), (2,), False),
    ],
)
def test_an_answer_is_wrong_if_no_conflict_of_the_cause_is_in_it(order, threads, has):
    chosen = [replace(POINTS[at], role=role) for at, role in zip(order, threads, strict=True)]
    assert challenges.has_conflict(ATOMIC, chosen, BUG) is has


class Points:
    """An interner of the points above, by their indexes; all of them can be asked for."""

    def point(self, index):
        one = POINTS[index]
        site = Site(one.file, one.function, one.line, one.line, 0, 0, "attr_read", "")
        return Point(site, Op.WRITE if one.op == "write" else Op.READ)


def ranked(*lines):
    made = [Line(at, "body", role, 1.0, float(time), 0.0, 1.0, role - 1)
            for time, (at, role) in enumerate(lines)]  # fmt: skip
    return Answer("joined", 1.0, {}, tuple(made), (0,), 0, {})


def test_wrong_answers_are_the_first_without_a_conflict_of_the_cause(monkeypatch, tmp_path):
    (tmp_path / "spider.py").write_text(SPIDER)
    bug = replace(BUG, folder=str(tmp_path))
    monkeypatch.setattr(challenges, "is_placeable", lambda answer, interner: True)
    right, wrong = ranked((0, 1), (1, 2), (2, 1)), ranked((0, 1), (0, 2))
    stuck = dataclasses.replace(wrong, is_stuck=True)
    found = challenges.wrong_answers([right, stuck, wrong, *[wrong] * 9], Points(), bug)
    assert found == [wrong] * challenges.MOST_WRONG


@pytest.mark.parametrize(
    ("lines", "confirmed", "said"),
    [
        (((0, 1), (0, 2)), True, "confirmed"),
        (((0, 1), (0, 2)), False, "untested"),
        (((0, 1), (1, 2)), True, challenges.CAUSE),
    ],
)
def test_a_wrong_answer_may_turn_out_to_be_the_cause(tmp_path, lines, confirmed, said):
    (tmp_path / "spider.py").write_text(SPIDER)
    verdict = Verdict("confirmed", NO_ARM, NO_ARM, NO_ARM, 0.0) if confirmed else None
    proven = Experiments((Proven(ranked(*lines), verdict),))
    prover = SimpleNamespace(prove=lambda *_: proven)
    bug = replace(BUG, folder=str(tmp_path))
    compared = SimpleNamespace(signature="s")
    assert challenges.proved_alone(prover, compared, Points(), bug, ranked(*lines)) == said


def row(**changes):
    good = {
        "bug": "weblech",
        "signature": "s",
        "seconds": 4.0,
        "status": "confirmed",
        "true": True,
        "lines": 4,
        "explains": True,
        "orders": 2,
        "searched": 30,
        "reproduced": 100,
        "tries": 100,
        "nearest": 1,
        "fix": True,
        "fix_fail": 0,
        "fix_deadlocks": 0,
        "fix_runs": 200,
        "decoys": ("refuted", "inconclusive"),
        "rejected": 2,
        "planted": 2,
        "patch": "lock",
        "patched_fail": 0,
        "patched_runs": 1000,
        "timings": {"hunt": 1.0, "confirm": 1.0, "minimise": 1.0, "fix": 1.0},
    }
    return Proved(**{**good, **changes})


def missed(**changes):
    found = ProvedZoo("c", "d", "3.11", (row(**changes),), {"weblech": 0})
    return [bar.text for bar in proof_page.bars(found) if not bar.met]


def test_a_good_proof_meets_all_bars():
    assert missed() == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"status": "inconclusive"}, "true cause confirmed"),
        ({"true": False}, "true cause confirmed"),
        ({"decoys": ("refuted", "confirmed")}, "no decoy confirmed"),
        ({"decoys": ()}, "no decoy confirmed"),
        ({"wrong": ("inconclusive", "confirmed")}, "no wrong answer"),
        ({"lines": 9}, "8 lines"),
        ({"explains": False}, "every true point"),
        ({"searched": 301}, "300 replays"),
        ({"fix_deadlocks": 1}, "the true one"),
        ({"fix_runs": 100}, "the true one"),
        ({"rejected": 1}, "wrong regions"),
        ({"patch": ""}, "a patch"),
        ({"patched_fail": 1}, "no wrong patch"),
        ({"patched_runs": 0}, "no wrong patch"),
        ({"seconds": 31.0}, "30 s"),
        ({"seconds": 12.0}, "median"),
    ],
)
def test_every_shortcoming_misses_its_bar(changes, words):
    assert any(words in text for text in missed(**changes))


def test_what_is_not_certain_has_no_few_constraints():
    assert len(missed(reproduced=99)) == len(missed(orders=None)) == 3


def test_a_twin_that_confirms_something_is_told():
    found = ProvedZoo("c", "d", "3.11", (row(),), {"weblech": 1})
    assert any("twins" in bar.text and not bar.met for bar in proof_page.bars(found))


def test_the_page_has_a_row_for_every_cause():
    page = proof_page.page(ProvedZoo("c", "d", "3.11", (row(), row(bug="abba")), {}))
    assert "| weblech |" in page and "| abba |" in page


PUBLIC = {"public": True, "named": True, "shape": "lost update", "shapes": ("lost update",)}


@pytest.mark.parametrize(
    ("changes", "bar"),
    [
        ({"found": False}, "found"),
        ({"named": False}, "every variable"),
        ({"true": False}, "confirmed"),
        ({"in_time": False}, "within"),
        ({"shape": "stale read"}, "shape"),
        ({"patch": ""}, "a patch"),
        ({"patched_fail": 1}, "no wrong patch"),
    ],
)
def test_programs_of_published_shapes_have_bars_of_their_own(changes, bar):
    rows = (row(bug="one", **PUBLIC), row(bug="two", **{**PUBLIC, "public": False}))
    good = proof_bars.table(ProvedZoo("c", "d", "3.11", rows, {}))
    assert "| no |" not in good and "1 of 1" in good and "2 of 2" in good
    worse = (row(bug="one", **{**PUBLIC, **changes}), rows[1])
    lines = proof_bars.table(ProvedZoo("c", "d", "3.11", worse, {})).splitlines()
    assert any(bar in line and line.endswith("| no |") for line in lines)


def test_of_several_failures_of_a_bug_the_most_frequent_one_counts():
    rows = (row(signature="first", **PUBLIC), row(signature="second", **PUBLIC))
    found = ProvedZoo("c", "d", "3.11", rows, {})
    assert [one.signature for one in proof_bars.by_bug(found)] == ["first"]
    assert "| weblech |" in proof_bars.section(found)
    assert proof_bars.section(ProvedZoo("c", "d", "3.11", (row(),), {})) == ""
