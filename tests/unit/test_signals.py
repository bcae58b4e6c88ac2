# SPDX-License-Identifier: Apache-2.0
"""The signal that a wait has missed, on lock operations made by hand."""

from unsnarl.model.event import Event, Op, point_of
from unsnarl.model.site import Site
from unsnarl.placement.signals import missed_signal, who_left

BELL, OTHER = 1, 2
CONDITION = 3
TEXTS = {
    40: "self.ready.notify_all()",
    41: "other.notify()",
    10: "bell.set()",
    20: "bell.clear()",
    21: "bell.wait(5)",
    30: "if bell.is_set():",
    60: "while self.running:",
    61: "self.running = False",
}


def site(event):
    line = event.site
    return Site("m.py", "f", line, line, 0, 0, "method", "")


def missed(*rows, wait=21):
    """Each operation on the lock of an object: thread, line, object; thread 1 waits on a line."""
    events = [
        Event(at, f"0.{thread}", point_of(line, Op.ACQUIRE), 1, cell)
        for at, (thread, line, cell) in enumerate(rows)
    ]
    end = Event(len(events), "0.1", point_of(wait, Op.ACQUIRE), 1, 99)
    found = missed_signal(events, site, lambda one: TEXTS.get(one.line, ""), end)
    return [event.at for event in found]


def test_who_gave_it_and_who_took_it_back():
    assert missed((2, 10, BELL), (1, 20, BELL), (1, 21, BELL)) == [0, 1]


def test_a_signal_that_was_given_before_anybody_waited():
    assert missed((2, 10, BELL), (1, 21, BELL)) == [0]


def test_other_objects_and_other_calls_are_no_signals():
    assert missed((2, 10, OTHER), (2, 30, BELL), (1, 20, OTHER), (1, 21, BELL)) == []


def test_what_waits_for_no_object_has_missed_nothing():
    assert missed((2, 10, BELL), (1, 21, BELL), wait=50) == []


def test_what_was_undone_before_counts_for_an_earlier_signal():
    assert missed((1, 20, BELL), (2, 10, BELL), (1, 21, BELL)) == [1]


def test_a_condition_that_nobody_waits_for_yet_is_notified_under_its_lock():
    """The call touches no lock then: the line only reads what the condition is called."""
    rows = [
        ("0.2", Op.ACQUIRE, 39, BELL),
        ("0.2", Op.READ, 40, CONDITION),
        ("0.2", Op.RELEASE, 39, BELL),
        ("0.2", Op.READ, 41, CONDITION),
        ("0.1", Op.ACQUIRE, 38, BELL),
        ("0.1", Op.RELEASE, 21, BELL),
    ]
    events = [
        Event(at, path, point_of(line, op), 1, cell)
        for at, (path, op, line, cell) in enumerate(rows)
    ]
    end = Event(9, "0.1", point_of(21, Op.ACQUIRE), 1, 99)
    found = missed_signal(events, site, lambda one: TEXTS.get(one.line, ""), end)
    assert [event.at for event in found] == [1]


RUNNING = 4
LEFT = [
    ("0.2", Op.ACQUIRE, 10, BELL),
    ("0", Op.WRITE, 61, RUNNING),
    ("0.2", Op.READ, 60, RUNNING),
    ("0.2", Op.END, 0, 0),
    ("0.1", Op.ACQUIRE, 21, BELL),
]


def left(rows):
    events = [
        Event(at, path, point_of(line, op), 1, cell)
        for at, (path, op, line, cell) in enumerate(rows)
    ]
    end = Event(9, "0.1", point_of(21, Op.ACQUIRE), 1, 99)
    found = who_left(events, site, lambda one: TEXTS.get(one.line, ""), end)
    return [event.at for event in found]


def test_who_could_have_given_the_signal_had_been_sent_home():
    assert left(LEFT) == [1, 2]


def test_who_had_nothing_to_do_with_it_or_is_still_there_explains_nothing():
    assert left([("0.2", Op.ACQUIRE, 10, OTHER), *LEFT[1:]]) == []
    assert left([row for row in LEFT if row[1] is not Op.END]) == []


def test_who_left_by_what_it_had_set_itself_was_not_sent():
    assert left([LEFT[0], ("0.2", Op.WRITE, 61, RUNNING), *LEFT[2:]]) == []
