# SPDX-License-Identifier: Apache-2.0
"""The pure parts of the evaluation of proofs: is the fix the true one, are the bars met."""

import pytest
from evaluation import proof_page
from evaluation.proof_results import Proved, ProvedZoo
from evaluation.repairs import contains
from evaluation.truth import Bug, Cause, TruePoint

from unsnarl.model.report import Finding, FindingPoint, Fix, SourceLine

SIZE, TAKE, TEST = "return self.qsize", "self.qsize -= 1", "if self.qsize == 0:"


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
