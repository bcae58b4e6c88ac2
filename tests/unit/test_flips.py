# SPDX-License-Identifier: Apache-2.0
"""What a try that did not fail teaches: which pairs are open, and which to turn round first."""

from __future__ import annotations

from tests.unit.test_pres import record
from tests.unit.traces import run_of

from unsnarl.model.event import Op
from unsnarl.reproduce.pres.flips import flips
from unsnarl.reproduce.pres.sketch import Sketch
from unsnarl.reproduce.pres.traced import ALSO_WROTE, MARK, Traced

READ, WRITE, ACQUIRE, RELEASE = Op.READ, Op.WRITE, Op.ACQUIRE, Op.RELEASE
CELL, LOCK = 70, 90
ENTER, EXIT = 5 << 4 | Op.ENTER, 6 << 4 | Op.EXIT


def mark(thread, passed):
    return (thread, MARK, 0, passed)


def sketch(*stamps):
    """Threads 0.1 and 0.2 enter and leave a function at these numbers of one order."""
    one, two = ([(n, 0, p) for n, p in zip(own, (ENTER, EXIT), strict=True)] for own in stamps)
    return Sketch(record([], one, two, order="global"), None)


OVERLAPPING = (1, 3), (2, 4)
APART = (1, 2), (3, 4)
BOTH_ADD = (
    mark(1, 1), mark(2, 1),
    (1, READ, 10, CELL), (1, WRITE, 11, CELL), mark(1, 2),
    (2, READ, 10, CELL), (2, WRITE, 11, CELL), mark(2, 2),
)  # fmt: skip


def told(run, known, failing=""):
    """Best first: who is to come first, and who waits for that, by thread and site."""
    found = sorted(flips(Traced(run, known), failing, 0.1), key=lambda one: -one.worth)
    return [
        (f"{c.before.path}:{c.before.site}", f"{c.after.path}:{c.after.site}", c.hold.site)
        for c in (one.constraint for one in found)
    ]


def test_accesses_of_functions_that_overlapped_are_open():
    known = sketch(*OVERLAPPING)
    assert told(run_of(*BOTH_ADD), known)[0] == ("0.2:11", "0.1:11", 11)
    assert {"0.2:10", "0.2:11"} == {first for first, _, _ in told(run_of(*BOTH_ADD), known)}


def test_what_the_sketch_orders_does_not_drown_what_it_leaves_open(monkeypatch):
    # In a loop that reads what was set before the threads began there are many of the former.
    monkeypatch.setattr("unsnarl.reproduce.pres.flips.MOST_PAIRS", 1)
    other = CELL + 1
    known = Sketch(
        record([], [(1, 0, ENTER), (3, 0, EXIT)], [(2, 0, ENTER), (4, 0, EXIT)], order="global"),
        None,
    )
    run = run_of(
        (1, WRITE, 9, other), mark(1, 1), mark(2, 1),
        (1, WRITE, 11, CELL), (2, READ, 10, CELL), mark(1, 2), (2, READ, 12, other), mark(2, 2),
    )  # fmt: skip
    assert told(run, known) == [("0.2:10", "0.1:11", 11)]


def test_accesses_beyond_the_record_have_a_worth_too():
    # Thread 0.1 had not begun, and 0.2 did no more, when the record ended.
    known = Sketch(record([(1, 0, ENTER)], [], [(2, 0, ENTER)], order="global"), None)
    run = run_of(mark(2, 1), (2, WRITE, 11, CELL), (1, WRITE, 11, CELL))
    worths = [one.worth for one in flips(Traced(run, known), "", 0.1)]
    assert worths
    assert all(0 < worth < 10 for worth in worths)


def test_accesses_that_the_sketch_orders_are_not_turned_round():
    run = run_of(
        mark(1, 1), (1, READ, 10, CELL), (1, WRITE, 11, CELL), mark(1, 2),
        mark(2, 1), (2, READ, 10, CELL), (2, WRITE, 11, CELL), mark(2, 2),
    )  # fmt: skip
    assert told(run, sketch(*APART)) == []


def test_marks_are_no_events_and_further_cells_race_too():
    grows = (mark(1, 1), mark(2, 1), (1, READ, 10, CELL), (2, WRITE, 20, 71),
             (2, ALSO_WROTE, 0, CELL))  # fmt: skip
    run = run_of(*grows)
    assert told(run, sketch(*OVERLAPPING)) == [("0.2:20", "0.1:10", 10)]
    assert [event.site for event in Traced(run, sketch(*OVERLAPPING)).timeline.events] == [10, 20]


def test_a_thread_waits_at_the_access_or_at_a_lock_that_the_other_needs():
    def run(*locks):
        return run_of(
            mark(1, 1), mark(2, 1),
            (1, ACQUIRE, 30, LOCK), (1, WRITE, 11, CELL), (1, RELEASE, 31, LOCK),
            *locks, (2, READ, 20, CELL),
        )  # fmt: skip

    alone = told(run(), sketch(*OVERLAPPING))
    assert ("0.2:20", "0.1:11", 11) in alone
    both = told(run((2, ACQUIRE, 40, LOCK)), sketch(*OVERLAPPING))
    assert ("0.2:20", "0.1:11", 30) in both


def test_what_a_thread_saw_before_it_left_the_sketch_comes_first():
    run = run_of(
        mark(1, 1), mark(2, 1),
        (1, WRITE, 11, CELL), (2, READ, 20, CELL),  # decides
        (1, WRITE, 12, 71), (2, READ, 21, 71),
        mark(2, 1),  # something that was not recorded
        (1, WRITE, 13, 72), (2, READ, 22, 72),
    )  # fmt: skip
    order = [after for after, _, _ in told(run, sketch(*OVERLAPPING))]
    assert order.index("0.2:22") == len(order) - 1
    assert Traced(run, sketch(*OVERLAPPING)).left == 4


def test_equal_runs_have_equal_shapes():
    known = sketch(*OVERLAPPING)
    one = run_of((1, WRITE, 10, 5), (2, WRITE, 20, 5), (1, READ, 11, 6))
    moved = run_of((1, READ, 11, 6), (1, WRITE, 10, 5), (2, WRITE, 20, 5))
    turned = run_of((2, WRITE, 20, 5), (1, WRITE, 10, 5), (1, READ, 11, 6))
    assert Traced(one, known).shape() == Traced(moved, known).shape()
    assert Traced(one, known).shape() != Traced(turned, known).shape()
