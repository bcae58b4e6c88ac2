# SPDX-License-Identifier: Apache-2.0
"""The calls between a lock and a wait, as steps of their own."""

from unsnarl.model.report import FindingPoint
from unsnarl.reports.patterns import ENTER
from unsnarl.reports.ways import MOST_POINTS, with_ways

TEXTS = {
    ("deco.py", 9): "with lock:",
    ("deco.py", 10): "return function(*args)",
    ("shop.py", 20): "@log.traced",
    ("shop.py", 21): "@locked(STOCK)",
    ("shop.py", 22): "def take(item):",
    ("shop.py", 24): "note(item)",
}
WRAPPER = "locked.decorate.wrapper"


def event(thread, op, where, function, *stack):
    file, line = where.split(":")
    return FindingPoint(file, int(line), function, thread, 1, op, "l", "body", 1.0, stack=stack)


def shown(*points):
    found = with_ways(points, lambda file, line: TEXTS.get((file, line), ""))
    return [(one.file, one.line, one.op, one.value) for one in found if one.op == ENTER]


TAKEN = event("0.1", "acquire", "deco.py:9", WRAPPER, "main.py:5 in main")
BEHIND = ("deco.py:10 in " + WRAPPER, "main.py:5 in main")


def test_the_calls_under_the_lock_stand_before_the_wait():
    taken = event("0.1", "acquire", "shop.py:30", "Shop.stop", "main.py:5 in main")
    wait = event(
        "0.1", "wait", "shop.py:40", "Shop.drain", "shop.py:31 in Shop.stop", "main.py:5 in main"
    )
    found = with_ways([taken, wait], lambda _file, line: f"line {line}")
    assert [(one.line, one.op) for one in found] == [(30, "acquire"), (31, ENTER), (40, "wait")]


def test_a_lock_of_a_decorator_is_shown_by_the_decorator():
    wait = event("0.1", "wait", "deco.py:9", WRAPPER, "shop.py:24 in take", *BEHIND)
    assert shown(TAKEN, wait) == [
        ("shop.py", 21, ENTER, "take"),
        ("shop.py", 24, ENTER, WRAPPER),
    ]


def test_another_decorator_than_the_one_that_took_it_is_not_named():
    wait = event("0.1", "wait", "deco.py:9", WRAPPER, "shop.py:50 in put", *BEHIND)
    assert shown(TAKEN, wait)[0] == ("deco.py", 10, ENTER, "put")


def test_a_lock_that_was_taken_elsewhere_has_no_way():
    """By a function that has returned since, on another line of a caller, or by another thread."""
    wait = event("0.1", "wait", "deco.py:9", WRAPPER, "shop.py:24 in take", *BEHIND)
    gone = event("0.1", "acquire", "deco.py:30", "enter", "main.py:5 in main")
    other = event("0.1", "acquire", "deco.py:9", WRAPPER, "main.py:4 in main")
    theirs = event("0.2", "acquire", "deco.py:9", WRAPPER, "main.py:5 in main")
    assert shown(gone, other, theirs, wait) == []
    assert shown(wait) == []


def test_a_long_explanation_is_not_made_longer():
    wait = event("0.1", "wait", "deco.py:9", WRAPPER, "shop.py:24 in take", *BEHIND)
    others = [event("0.2", "acquire", f"x.py:{at}", "f") for at in range(MOST_POINTS - 3)]
    assert shown(TAKEN, *others, wait) == [("shop.py", 21, ENTER, "take")]
