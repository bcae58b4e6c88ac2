# SPDX-License-Identifier: Apache-2.0
"""Sketches of records: what the clocks prove, what is likely, and what the gate is given."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from unsnarl.model.constraint import Constraint
from unsnarl.model.event import Event, Op
from unsnarl.model.record import LOG, VALUE, Record, Recorded, ThreadLog
from unsnarl.recording.clocks.ranges import ClockRange, Clocks
from unsnarl.reproduce.pres.base import ContradictionError, Times
from unsnarl.reproduce.pres.flip_queue import _without
from unsnarl.reproduce.pres.flips import chance
from unsnarl.reproduce.pres.sketch import EVENT, HEADER, NEED, THREAD, Sketch
from unsnarl.reproduce.pres.traced import TimeSpan

ENTER, ACQUIRE, RELEASE = 16 | Op.ENTER, 32 | Op.ACQUIRE, 32 | Op.RELEASE


def clocks(low=-10, high=20):
    """Two cores; the clock of 1 is ahead of that of 0 by something from low to high."""
    return Clocks(
        boot="b",
        suspended=0.0,
        source="counter",
        frequency=1e9,
        grain=1,
        margin=0,
        pinned=True,
        virtual=False,
        windows=1,
        measured=0.0,
        ranges=(ClockRange(0, 1, low, high),),
    )


def record(*threads, order="clocks", level="func", slack=0):
    """Threads as lists of (stamp, core) or (stamp, core, point)."""
    logs = []
    for index, events in enumerate(threads):
        rows = [(stamp, (*rest, ENTER)[0], index, core) for stamp, core, *rest in events]
        path = "0" if not index else f"0.{index}"
        blank = np.zeros(0, VALUE), np.zeros(0, np.bool_)
        logs.append(ThreadLog(index, path, np.array(rows, LOG), *blank))
    return Record(Recorded(level, order, slack=slack), tuple(logs))


def before(one, other, known=None, **how):
    """How many events of the second thread are before each of the first."""
    return Times(record(one, other, **how), known or clocks()).before(0, 1).tolist()


def test_stamps_of_one_core_are_in_their_order():
    assert before([(5, 0), (9, 0)], [(4, 0), (6, 0), (12, 0)]) == [1, 2]


def test_two_cores_are_ordered_only_beyond_the_range():
    # Core 1 may be ahead by 20 at most, or behind by 10: 110 there may have been 120 here.
    assert before([(100, 0), (120, 0), (121, 0)], [(110, 1)]) == [0, 0, 1]
    assert before([(110, 1), (121, 1)], [(100, 0)]) == [0, 1]


def test_clocks_that_are_not_known_prove_nothing_between_cores():
    times = Times(record([(9000, 0)], [(1, 1)]), None)
    assert not times.all_measured
    assert times.before(0, 1).tolist() == [0]


def test_a_stamp_without_a_fence_may_be_off_and_a_fenced_one_not():
    # Core 1 may be ahead by 20.
    assert before([(180, 1)], [(100, 0)], slack=30) == [0]
    assert before([(181, 1)], [(100, 0)], slack=30) == [1]
    assert before([(151, 1)], [(100, 0, ACQUIRE)], slack=30) == [1]
    assert before([(121, 1, ACQUIRE)], [(100, 0, ACQUIRE)], slack=30) == [1]
    # Early by much, late by little.
    assert before([(42_121, 1), (45_000, 1)], [(100, 0)], slack=40_000) == [1, 1]
    assert before([(42_120, 1)], [(100, 0)], slack=40_000) == [0]


def test_giving_a_lock_back_is_stamped_without_a_fence():
    assert before([(151, 1, ACQUIRE)], [(100, 0, RELEASE)], slack=40) == [0]
    assert before([(161, 1, ACQUIRE)], [(100, 0, RELEASE)], slack=40) == [1]


def test_stamps_of_one_core_need_no_fence():
    assert before([(101, 0)], [(100, 0)], slack=40_000) == [1]
    # Only while both were there.
    assert before([(90, 1), (101, 0), (102, 1)], [(100, 0)], slack=40_000) == [0, 1, 1]


def test_a_later_event_of_the_thread_tells_of_the_earlier_ones():
    # The acquire's stamp does not lie, and the function was entered before it.
    assert before([(121, 1, ACQUIRE)], [(90, 0), (100, 0, ACQUIRE)], slack=1000) == [2]


def test_one_order_of_all_is_proved_whatever_the_cores():
    assert before([(2, 0), (4, 1)], [(1, 1), (3, 0)], order="global") == [1, 2]


def test_a_thread_that_moves_keeps_what_was_proved():
    times = Times(record([(100, 0), (90, 1), (300, 1)], [(50, 0), (295, 0)]), clocks())
    assert times.before(0, 1).tolist() == [1, 1, 1]
    assert np.all(np.diff(times.corrected(0)) >= 0)


def test_the_base_is_in_the_order_of_corrected_stamps():
    # Core 1 is ahead by 5 in the middle of the range.
    sketch = Sketch(record([(100, 0), (120, 0)], [(106, 1), (124, 1)]), clocks())
    assert sketch.order == [(0, 0), (1, 0), (1, 1), (0, 1)]


def test_stamps_that_contradict_each_other_are_refused():
    backwards = record([(1000, 0), (10, 0)], [(500, 0), (20, 0)], order="global")
    with pytest.raises(ContradictionError):
        Sketch(backwards, None)


def test_only_the_latest_that_is_not_implied_is_demanded():
    sketch = Sketch(record([(1, 0), (2, 0)], [(3, 0), (4, 0)], [(5, 0)], order="global"), None)
    # Thread 2 waits for thread 1 alone, which has waited for thread 0; nobody waits twice.
    assert sketch.needs == [{}, {0: [(0, 2)]}, {0: [(1, 2)]}]
    assert sketch.demands == 2
    assert sketch.is_before((0, 1), (2, 0))
    assert not sketch.is_before((2, 0), (0, 1))


def test_the_gate_is_given_what_its_header_says(tmp_path):
    sketch = Sketch(record([(1, 0)], [(3, 0), (4, 0)], order="global"), None)
    sketch.write(tmp_path / "sketch", ["0.1"])
    data = (tmp_path / "sketch").read_bytes()
    magic, version, threads, events, needs = struct.unpack_from("<8sIIII", data)
    assert (magic, version, threads, events, needs) == (b"UNSKETCH", 1, 2, 3, 1)
    at = HEADER.itemsize
    rows = np.frombuffer(data, THREAD, threads, at)
    assert [(row["path"], row["first"], row["length"]) for row in rows] == [
        (b"0", 0, 1),
        (b"0.1", 1, 2),
    ]
    assert rows["last"][1] < rows["last"][0]  # the thread that failed goes on first
    at += rows.nbytes
    told = np.frombuffer(data, EVENT, events + 1, at)
    assert told["due"][:3].tolist() == [0, 1, 2]
    assert told["needs"].tolist() == [0, 0, 1, 1]
    assert np.frombuffer(data, NEED, needs, at + told.nbytes).tolist() == [(0, 1)]


def test_what_overlaps_may_have_been_either_way():
    early, late = TimeSpan(0, 10), TimeSpan(20, 30)
    assert chance(early, late, 0) == 1
    assert chance(late, early, 0) == 0
    assert chance(early, early, 0) == pytest.approx(0.5)
    assert 0 < chance(late, early, 20) < 0.5  # times may be off by so much


def event(path, occurrence):
    return Event(occurrence, path, 16, occurrence, 7)


def flip(before, after):
    return Constraint(before, after, after)


def test_a_flip_replaces_its_opposite_and_what_it_implies():
    one, two, other = event("0.1", 1), event("0.1", 2), event("0.2", 1)
    assert _without([flip(one, other)], flip(other, one)) == ()
    # To wait for the second implies to wait for the first.
    assert _without([flip(one, other)], flip(two, other)) == ()
    elsewhere = flip(one, event("0.2", 5))
    assert _without([elsewhere], flip(two, other)) == (elsewhere,)
