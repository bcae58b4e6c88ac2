# SPDX-License-Identifier: Apache-2.0
"""Timelines that are kept as long as their runs."""

import gc
import weakref

import pytest
from tests.unit.runfile_writer import records, run_file, thread
from tests.unit.traces import run_of

from unsnarl.model.event import Op, point_of
from unsnarl.model.evidence import Due
from unsnarl.placement.timeline import Timeline
from unsnarl.runfile.layout import TRACE_FOLLOWS, Section
from unsnarl.runfile.reader import parse_run

A, B = point_of(10, Op.READ), point_of(20, Op.WRITE)


def traced_run():
    threads = records(Section.THREADS, [thread(0, "0"), thread(1, "0.1")])
    trace = records(Section.TRACE, [(1, 7, A, 0, 0), (2, 7, B, 1, 0)])
    return parse_run(run_file([threads, trace]))


def test_the_timeline_of_a_run_is_made_once():
    run = traced_run()
    assert Timeline.of(run) is Timeline.of(run)
    assert Timeline.of(run).events == Timeline(run).events


def test_a_run_that_was_marked_has_another_timeline():
    run = traced_run()
    before = Timeline.of(run)
    run.due = (Due("0.1", 1, 0, A, 7),)
    assert len(Timeline.of(run).due) == 1
    assert not before.due


def test_a_timeline_goes_with_its_run():
    run = traced_run()
    kept = weakref.ref(Timeline.of(run))
    del run
    gc.collect()
    assert kept() is None


@pytest.mark.parametrize(("context", "held"), [(0, 1), (TRACE_FOLLOWS, 0)])
def test_a_thread_can_be_held_before_the_first_access_of_an_operation_only(context, held):
    threads = records(Section.THREADS, [thread(0, "0")])
    counts = records(Section.COUNTS, [(0, 10, 2, 10)])
    writes = point_of(10, Op.WRITE)
    trace = records(Section.TRACE, [(1, 7, A, 0, 0), (2, 8, writes, 0, context)])
    timeline = Timeline(parse_run(run_file([threads, counts, trace])))
    assert timeline.hold(timeline.events[1]) == timeline.events[held]


def test_events_of_points_come_in_the_order_of_time():
    threads = records(Section.THREADS, [thread(0, "0"), thread(1, "0.1")])
    rows = [(1, 7, A, 0, 0), (2, 7, B, 1, 0), (3, 7, A, 1, 0), (4, 7, B, 0, 0)]
    timeline = Timeline(parse_run(run_file([threads, records(Section.TRACE, rows)])))
    assert timeline.at_points([B, A, B]) == timeline.events
    assert timeline.at_points([A]) == [timeline.events[0], timeline.events[2]]
    assert timeline.at_points([A, B], meant=True) == list(map(timeline.meaning, timeline.events))
    assert timeline.at_points([point_of(30, Op.READ)]) == []


@pytest.mark.parametrize("others", [0, 1])
def test_a_lock_that_a_call_waits_for_is_where_its_thread_can_be_held(others):
    """A wait for a condition takes its mutex back: at once, or when others have let it go."""
    between = [(2, Op.WRITE, 20, 300)] * others
    events = (1, Op.ACQUIRE, 10, 100), *between, (1, Op.ACQUIRE, 10, 200), (1, Op.READ, 11, 300)
    found = Timeline(run_of(*events, heads=[20]))
    assert found.hold(found.events[-1]) == found.events[2 if others else 0]


def test_what_a_waiter_is_let_go_by_guards_nothing():
    """It had that lock from the beginning: the first that is seen is how another one lets it go."""
    let_go = (2, Op.RELEASE, 20, 100), (1, Op.ACQUIRE, 10, 100)
    found = Timeline(run_of(*let_go, (1, Op.WRITE, 11, 300)))
    assert not found.around(found.events[-1])
