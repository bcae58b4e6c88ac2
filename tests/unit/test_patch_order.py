# SPDX-License-Identifier: Apache-2.0
"""Which patches are tried first."""

from tests.unit.conflicts import conflict, line_of, point, source

from unsnarl.patches.blocks import LineSpan
from unsnarl.patches.drafts import calls_only, drafts
from unsnarl.patches.regions import Draft, shown

CALLED = """
import threading

class Till:
    def __init__(self):
        self.cash = 0

    def pay(self):
        self.cash = self.cash + 1

def test_till(till):
    till.pay()
"""


def test_the_code_at_fault_is_patched_before_its_callers():
    """A test that takes the lock passes; all other callers still fail."""
    file = source(CALLED)
    inner, outer = line_of(file, "self.cash = self.cash + 1"), line_of(file, "till.pay()")
    where = {"function": "Till.pay", "stack": (f"a.py:{outer} in test_till",)}
    made = conflict(
        CALLED,
        point(inner, 1, "read", "Till.cash", **where),
        point(inner, 2, "write", "Till.cash", **where),
        point(inner, 1, "write", "Till.cash", **where),
    )
    at_calls = [calls_only(made, one) for one in drafts(made)]
    assert at_calls[0] is False and at_calls == sorted(at_calls)
    around = Draft("lock", "", {}, 1, (LineSpan("a.py", outer, outer),))
    assert calls_only(made, around)


def test_lines_that_two_reasons_give_are_named_once():
    once, twice = LineSpan("a.py", 3, 3), LineSpan("a.py", 5, 8)
    assert shown([twice, once, twice]) == "a.py:3, a.py:5-8"
