# SPDX-License-Identifier: Apache-2.0
"""One finding out of several causes, from which a patch for all of them is made."""

from msgspec.structs import replace

from unsnarl.model.report import Finding, FindingPoint, Fix, SourceLine
from unsnarl.patches.conflict import Conflict, span_sets
from unsnarl.patches.drafts import drafts
from unsnarl.patches.joint import joined
from unsnarl.patches.source import SourceFile

SOURCE = """\
class Till:
    def __init__(self):
        self.cash = 0
        self.cards = 0

    def pay(self, amount):
        self.cash = self.cash + cents(amount)

    def card(self, amount):
        self.cards = self.cards + cents(amount)


def cents(amount):
    return 100 * amount
"""


def cause(line, function, name, fix=None):
    def point(thread, op, where=line):
        role = {"0.1": 1, "0.2": 2, "0": 3}[thread]
        return FindingPoint(
            "till.py", where, f"Till.{function}", thread, role, op, f"Till.{name}", "body", 1.0
        )

    points = (point("0.1", "read"), point("0.2", "write"), point("0.1", "write"))
    seen = (*points, point("0", "read", 40))
    return Finding(
        1, "joined", 1.0, {}, "atomicity", (f"Till.{name}",), seen, 3, explanation=seen, fix=fix
    )


def region(line, lock="", others=()):
    at = SourceLine("till.py", line, "f")
    return Fix("region", at, at, lock=lock, others=others, runs=40)


CASH, CARDS = cause(7, "pay", "cash"), cause(10, "card", "cards")


def test_roles_of_two_causes_are_different():
    one = joined([CASH, CARDS])
    assert one.variables == ("Till.cash", "Till.cards")
    assert [(point.line, point.role) for point in one.explanation] == [
        (7, 1), (7, 2), (7, 1), (10, 3), (10, 4), (10, 3),
    ]  # fmt: skip


def test_what_the_main_thread_sees_at_the_end_is_no_part_of_it():
    assert all(point.thread != "0" for point in joined([CASH, CARDS]).points)


def test_the_lines_of_all_simulated_fixes_come_together():
    fixes = [region(7), region(10, "Till.lock", ("till.py:3",))]
    one = joined([cause(7, "pay", "cash", fixes[0]), cause(10, "card", "cards", fixes[1])])
    assert one.fix is not None
    # That with a lock of the program comes first.
    assert (one.fix.begin.line, one.fix.lock) == (10, "Till.lock")
    assert one.fix.others == ("till.py:3", "till.py:7-7")


def test_an_order_is_no_region():
    at = SourceLine("till.py", 7, "f")
    assert joined([cause(7, "pay", "cash", Fix("order", at, at)), CARDS]).fix is None


def test_every_draft_protects_all_causes(tmp_path):
    path = tmp_path / "till.py"
    path.write_text(SOURCE)
    one = joined([cause(7, "pay", "cash", region(7)), cause(10, "card", "cards", region(10))])
    conflict = Conflict(one, {"till.py": SourceFile(path, "till.py")})
    assert any({span.first for span in spans} == {7, 10} for spans in span_sets(conflict))
    found = drafts(conflict)
    assert found
    for draft in found:
        text = draft.texts["till.py"]
        assert text.count("with ") == 2, text


def test_what_another_cause_is_about_is_left_out():
    """A failing run shows more of the same threads: it would tie the two together."""
    other = replace(CARDS.points[1], role=1, thread="0.1")
    mixed = replace(CASH, explanation=(*CASH.points[:3], other))
    assert [point.line for point in joined([mixed, CARDS]).explanation] == [7, 7, 7, 10, 10, 10]
