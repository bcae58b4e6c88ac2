# SPDX-License-Identifier: Apache-2.0
"""CLAP on histories made by hand: what becomes of them in a problem, and of orders in a sketch."""

from __future__ import annotations

import numpy as np
import pytest

from unsnarl.errors import UsageError
from unsnarl.model.event import Op
from unsnarl.model.record import LOG, VALUE, Record, Recorded, ThreadLog
from unsnarl.recording.clocks.ranges import ClockRange, Clocks
from unsnarl.reproduce.clap import schedule
from unsnarl.reproduce.clap.conditions import Chooser
from unsnarl.reproduce.clap.encode import encode, ticks
from unsnarl.reproduce.clap.following import FollowedRun, FollowedThread, Guesses, Left
from unsnarl.reproduce.clap.histories import (
    HAS_VALUE,
    MORE,
    History,
    LoggedEvent,
    Touched,
    of_record,
)
from unsnarl.reproduce.clap.method import form_of
from unsnarl.reproduce.clap.sightings import FIRST, Sightings
from unsnarl.reproduce.clap.solving import solve_all_but_few
from unsnarl.reproduce.orders import Kind, Solved, Unsatisfiable, solve_order
from unsnarl.reproduce.orders.native import NativeSolver

CELL, LOCK, OBJECT = 100, 200, 300
CLOCKS = Clocks(
    boot="", suspended=0.0, source="counter", frequency=1e9, grain=1, margin=0, pinned=True,
    virtual=False, windows=1, measured=0.0, ranges=(ClockRange(0, 1, -50, 50),),
)  # fmt: skip


def did(op, cell=CELL, value=None, **more):
    return LoggedEvent(16 | op, (Touched(op, cell, value),), **more)


def reads(value, **more):
    return did(Op.READ, CELL, value, **more)


def writes(value, **more):
    return did(Op.WRITE, CELL, value, **more)


def histories(*threads):
    return [History(f"0.{at + 1}", tuple(own)) for at, own in enumerate(threads)]


def kinds(encoded, thread):
    first, last = encoded.problem.first[thread : thread + 2].tolist()
    return [Kind(kind) for kind in encoded.problem.kind[first:last]]


def order_of(*threads, **options):
    encoded = encode(histories(*threads), None, **options)
    answer = solve_order(encoded.problem, NativeSolver(), 5.0)
    assert isinstance(answer, Solved), answer
    return schedule.positions_in_order(encoded, answer.order.tolist())


def test_values_decide_the_order():
    order = order_of([writes(1), writes(2)], [reads(0), reads(1), reads(2)])
    assert order == [(1, 0), (0, 0), (1, 1), (0, 1), (1, 2)]


def test_cells_of_one_thread_are_left_out():
    encoded = encode(histories([did(Op.WRITE, 7, 1), writes(1)], [reads(1)]), None)
    assert encoded.accesses == 2
    assert encoded.positions == [(0, 1), (1, 0)]


def test_a_lock_that_its_owner_takes_again_is_one_section():
    lock = [did(Op.ACQUIRE, LOCK), did(Op.ACQUIRE, LOCK), did(Op.RELEASE, LOCK),
            did(Op.RELEASE, LOCK)]  # fmt: skip
    assert kinds(encode(histories(lock), None), 0) == [Kind.ACQUIRE, Kind.RELEASE]


def test_who_waits_goes_on_after_who_wakes_it():
    waits = [did(Op.ACQUIRE, LOCK), did(Op.ACQUIRE, LOCK), writes(2)]
    wakes = [reads(1), did(Op.RELEASE, LOCK)]
    order = order_of([writes(1)], waits, wakes)
    assert order.index((2, 1)) < order.index((1, 1))


def test_nobody_comes_between_what_a_method_finds_and_leaves():
    def append(before):
        pair = (Touched(Op.READ, CELL, before), Touched(Op.WRITE, CELL, before + 1))
        return LoggedEvent(16 | Op.WRITE, pair)

    encoded = encode(histories([append(0)], [append(1)]), None)
    assert kinds(encoded, 0) == [Kind.ACQUIRE, Kind.READ, Kind.WRITE, Kind.RELEASE]
    assert order_of([append(1)], [append(0)]) == [(1, 0), (0, 0)]


def test_a_method_that_changed_nothing_is_a_read():
    failed = LoggedEvent(16 | Op.WRITE, (Touched(Op.READ, CELL, 0), Touched(Op.WRITE, CELL, 0)))
    assert kinds(encode(histories([failed], [writes(1)]), None), 0) == [Kind.READ]


@pytest.mark.parametrize("in_turn", [True, False])
def test_calls_of_libraries_keep_the_order_of_their_times(in_turn):
    calls = [did(Op.CALL, OBJECT, time=time) for time in (1.0, 3.0, 2.0)]
    encoded = encode(histories(calls[:2], calls[2:]), None, in_turn=in_turn)
    assert bool(encoded.accesses) == in_turn
    if in_turn:
        answer = solve_order(encoded.problem, NativeSolver(), 5.0)
        assert schedule.positions_in_order(encoded, answer.order.tolist()) == [
            (0, 0),
            (1, 0),
            (0, 1),
        ]


def test_values_that_nobody_wrote_say_nothing():
    encoded = encode(histories([writes(1)], [reads(8), reads(9)]), None)
    assert encoded.problem.logged.tolist() == [True, False, False]


def test_one_such_value_is_the_first():
    assert order_of([writes(1)], [reads(8), reads(1)]) == [(1, 0), (0, 0), (1, 1)]


def test_times_stand_in_for_values_that_are_not_known():
    threads = [writes(None, time=2.0)], [reads(None, time=1.0), reads(None, time=3.0)]
    assert order_of(*threads, by_time=True) == [(1, 0), (0, 0), (1, 1)]


def test_times_tell_whether_a_value_was_there_from_the_beginning():
    def found(first, then):
        return order_of([writes(1, time=first)], [reads(1, time=then)], by_time=True)

    assert found(1.0, 2.0) == [(0, 0), (1, 0)]
    assert found(2.0, 1.0) == [(1, 0), (0, 0)]


def test_a_value_that_nobody_wrote_was_there_from_the_beginning_whatever_the_times_say():
    threads = [writes(1, time=1.0)], [reads(0, time=2.0), reads(1, time=3.0)]
    assert order_of(*threads, by_time=True) == [(1, 0), (0, 0), (1, 1)]


def test_a_read_that_contradicts_all_else_is_set_aside():
    encoded = encode(histories([writes(1), reads(5)], [writes(2), reads(1)]), None)
    problem, answer, aside = solve_all_but_few(encoded.problem, 5.0)
    assert isinstance(answer, Solved)
    assert (aside, problem.logged.sum()) == (1, 3)


def stamped(fenced, stamp, core):
    op = Op.JOIN if fenced else Op.WRITE
    return did(op, CELL, 1, stamp=stamp, core=core)


@pytest.mark.parametrize(("apart", "proved"), [(51, True), (50, False)])
def test_stamps_prove_an_order_beyond_the_range_of_the_skew(apart, proved):
    first = [stamped(True, 1000, 0)]
    second = [did(Op.ACQUIRE, CELL, stamp=1000 + apart, core=1)]
    found = ticks(histories(first, second), Recorded("access"), CLOCKS)
    here, there = found.core[0, True], found.core[1, True]
    assert (1000 + found.ahead[here][there] < 1000 + apart) == proved


def test_stamps_without_a_fence_may_be_off_between_cores():
    here = [stamped(False, 1000, 0), stamped(True, 2000, 0)]
    there = [stamped(False, 1000, 1), stamped(True, 2000, 1)]
    found = ticks(histories(here, there), Recorded("access", slack=300), CLOCKS)
    (loose, tight), (far_loose, far_tight) = (
        [found.core[core, fenced] for fenced in (False, True)] for core in (0, 1)
    )
    skew = found.ahead[tight][far_tight]
    assert found.ahead[loose][far_loose] == skew + 600
    assert found.ahead[loose][far_tight] == found.ahead[tight][far_loose] == skew + 300
    assert found.ahead[loose][loose] == found.ahead[loose][tight] == 0


def test_an_order_is_told_with_few_switches():
    threads = [writes(1), writes(2), writes(3)], [did(Op.WRITE, 7, 1)], [did(Op.READ, 7, 1)]
    encoded = encode(histories(*threads, [reads(3)]), None)
    told = schedule.smoothed(encoded.problem, [0, 3, 1, 4, 2, 5])
    assert told == [0, 1, 2, 3, 4, 5]


def test_a_sketch_demands_only_conflicts():
    encoded = encode(histories([writes(1), writes(2)], [reads(1)]), None)
    assert schedule.demands(encoded, [0, 2, 1]) == [{1: [(1, 1)]}, {0: [(0, 1)]}]


def test_events_that_the_problem_does_not_know_come_with_the_next():
    own = histories([did(Op.READ, 7), writes(1), did(Op.READ, 8)], [reads(1)])
    assert schedule.whole_order(own, [(0, 1), (1, 0)]) == [(0, 0), (0, 1), (1, 0), (0, 2)]


def test_threads_that_were_cut_off_do_their_last_events_last():
    own = histories([reads(0), writes(1)], [did(Op.READ, 7), did(Op.END, 900)], [reads(1)])
    order = [(0, 0), (0, 1), (2, 0), (1, 0), (1, 1)]
    demands = [{}, {}, {0: [(0, 2)]}]
    assert schedule.postponed(own, order, demands) == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]


def lost_update(final):
    """Two threads add one to a cell; afterwards it is what `final` says of r."""
    threads = histories([reads(None), writes(None)], [reads(None), writes(None)], [reads(None)])
    join = [did(Op.JOIN, 900 + at) for at in (0, 1)]
    ended = [
        History(one.path, (*one.events, did(Op.END, 900 + at))) for at, one in enumerate(threads)
    ]
    ended[2] = History("0.3", (*join, reads(None)))
    encoded = encode(ended, None)
    events = {place: event for event, place in enumerate(encoded.positions)}
    names = {events[0, 0]: "r0_0_1", events[1, 0]: "r0_0_2", events[2, 2]: "r0_0_3"}
    cell = int(encoded.problem.object[events[0, 0]])
    seen = Sightings(
        symbols=names,
        written={events[0, 1]: "(+ r0_0_1 1)", events[1, 1]: "(+ r0_0_2 1)"},
        firsts={cell: "0"},
        seen={events[0, 0]: FIRST, events[1, 0]: events[0, 1], events[2, 2]: events[1, 1]},
        conditions=[final.replace("r", "r0_0_3")],
    )
    return Chooser(encoded, seen, "strictly")


@pytest.mark.parametrize(
    ("final", "possible"),
    [("(= r 1)", True), ("(= r 2)", True), ("(= r 3)", False), ("(= r 0)", False)],
)
def test_conditions_choose_what_reads_saw(final, possible):
    chooser = lost_update(final)
    answer = chooser.solve(NativeSolver(), 10.0)
    assert isinstance(answer, Solved if possible else Unsatisfiable)
    assert chooser.effort.reads == 3


def followed(path="0", guesses=(), left=None):
    one = FollowedThread(accesses=(), conditions=(), guesses=tuple(guesses), branches=0)
    return FollowedRun({path: one}, Left(path, 0, 0, "") if left else None)


def test_guesses_are_tried_both_ways():
    guesses, tried = Guesses(), []
    for _ in range(10):
        made = (*guesses.asked().get("0", []), 0, 0)[:2]
        tried.append(made)
        guesses.learn(followed(guesses=made))
        if not guesses.turn("0"):
            break
    assert tried == [(0, 0), (0, 1), (1, 0), (1, 1)]


@pytest.mark.parametrize(
    ("how", "form"),
    [
        (Recorded("access", values=True), "values"),
        (Recorded("funcloop", values=True), "values"),
        (Recorded("sync", branches=True), "branches"),
    ],
)
def test_what_an_order_can_be_solved_from(how, form):
    assert form_of(how) == form


@pytest.mark.parametrize("how", [Recorded("access"), Recorded("funcloop")])
def test_records_that_lack_values_are_refused(how):
    with pytest.raises(UsageError, match="neither values of accesses nor branches"):
        form_of(how)


def test_columns_of_a_problem_stay_numbers():
    problem = encode(histories([writes(2**64 - 1)], [reads(2**64 - 1)]), None).problem
    assert problem.value.dtype == np.uint64
    assert problem.value.tolist() == [2**64 - 1] * 2


def logged(events, values, level="funcloop"):
    """The record of one thread: (operation, stamp), and rows of values."""
    rows = [(stamp, 16 | op, 1, 0) for op, stamp in events]
    log = ThreadLog(1, "0.1", np.array(rows, LOG), np.array(values, VALUE), np.zeros(0, bool))
    return Record(Recorded(level, values=True), (log,))


def value(op, cell, number, position, flags=HAS_VALUE):
    return (cell, number, 16 | op, position, 1, flags, 0)


def test_accesses_lie_between_the_stamps_of_functions_and_loops():
    record = logged(
        [(Op.BEGIN, 10), (Op.ENTER, 20), (Op.BLOCK, 30), (Op.BLOCK, 40), (Op.ACQUIRE, 50),
         (Op.EXIT, 60)],
        [value(Op.READ, CELL, 1, 2), value(Op.WRITE, CELL, 2, 2), value(Op.ACQUIRE, LOCK, 0, 4, 0),
         value(Op.READ, CELL, 3, 6)],
    )  # fmt: skip
    (history,) = of_record(record, None)
    assert [(one.op, one.stamp, one.marks) for one in history.events] == [
        (Op.BEGIN, 10, ((20, 0),)),
        (Op.READ, 0, ()),
        (Op.WRITE, 0, ((30, 0), (40, 0))),
        (Op.ACQUIRE, 50, ((60, 0),)),
        (Op.READ, 0, ()),
    ]
    assert [one.touched[0].cell for one in history.events[1:]] == [CELL, CELL, LOCK, CELL]
    times = [one.time for one in history.events]
    assert times == sorted(times)
    assert 20 < times[1] < times[2] < 30


def test_marks_in_a_row_are_two():
    record = logged([(Op.BEGIN, 1), *((Op.BLOCK, stamp) for stamp in range(2, 9))], [])
    (history,) = of_record(record, None)
    assert history.events[0].marks == ((2, 0), (8, 0))


def test_what_one_access_touches_is_one_event():
    values = [
        value(Op.READ, CELL, 4, 1),
        value(Op.WRITE, CELL, 5, 1, HAS_VALUE | MORE),
        value(Op.WRITE, OBJECT, 6, 1, HAS_VALUE | MORE),
        value(Op.WRITE, CELL, 7, 1),
    ]
    (history,) = of_record(logged([(Op.BEGIN, 1)], values), None)
    assert [(one.op, len(one.touched)) for one in history.events] == [
        (Op.BEGIN, 0), (Op.WRITE, 3), (Op.WRITE, 1)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("ends", "begins", "kind"),
    [(500, 9000, Unsatisfiable), (500, 540, Solved), (9000, 500, Solved)],
)
def test_marks_order_what_is_before_and_after_them(ends, begins, kind):
    """What was written before a loop went back cannot be missed by a read after a later one did."""
    threads = histories(
        [writes(1, marks=((ends, 0),))], [did(Op.CALL, OBJECT, marks=((begins, 1),)), reads(0)]
    )
    encoded = encode(threads, ticks(threads, Recorded("loop", values=True), CLOCKS))
    assert kinds(encoded, 0) == [Kind.WRITE, Kind.CLOCK]
    assert isinstance(solve_order(encoded.problem, NativeSolver(), 5.0), kind)
    assert isinstance(solve_order(encode(threads, None).problem, NativeSolver(), 5.0), Solved)
