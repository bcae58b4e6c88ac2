# SPDX-License-Identifier: Apache-2.0
"""Answers and proofs completed from a traced run made by hand."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tests.unit.traces import run_of

from unsnarl.analyses.answer import Answer, Line
from unsnarl.experiments.completion import Completion
from unsnarl.experiments.minimise import Minimal
from unsnarl.experiments.prove import Proof, Seen
from unsnarl.model.event import Op, op_of, site_of
from unsnarl.model.run import Caught, Failure, Frame
from unsnarl.model.site import Point, Site
from unsnarl.placement.timeline import Timeline
from unsnarl.reports.proof_facts import proof_facts

READ, WRITE, ACQUIRE, RELEASE = Op.READ, Op.WRITE, Op.ACQUIRE, Op.RELEASE
SOCK, LOCK, MODE, OTHER, LAST = 1, 9, 3, 5, 6
# The one looks, the other one clears it, the first one looks once more and fails.
RACE = [(1, READ, 10, SOCK), (2, WRITE, 20, SOCK), (1, READ, 12, SOCK)]


class FakeInterner:
    """Raw points are indexes, and sites lines of two functions."""

    def indexes(self, raw, run):
        return raw

    def point(self, index):
        line = site_of(index)
        function = "close" if line < 20 else "stop"
        return Point(Site("m.py", function, line, line, 0, 0, "attr_read", ""), op_of(index))


def traced(*events, **more):
    run = run_of(*events, **more)
    threads = [SimpleNamespace(path=path, index=at) for at, path in enumerate(("0", "0.1", "0.2"))]
    added = {"threads": threads, "failing_thread": "0.1", "failures": ()}
    added |= {"caught": (), "failing_point": None}
    return SimpleNamespace(**{**vars(run), **added})


def line(site, op, role, time):
    return Line(site << 4 | op, "body", role, 1.0, time, 1.0, 1.0, role - 1)


def answer(*lines):
    return Answer("joined", 1.0, {}, lines, (0,), 0, {0: {0: 1, 1: 2}})


def test_an_answer_is_shown_with_the_access_that_fails():
    found = Completion(traced(*RACE), FakeInterner()).lines(
        answer(line(10, READ, 1, 1.0), line(20, WRITE, 2, 2.0)), 0
    )
    assert [(one.point, one.role, one.anchor) for one in found] == [(12 << 4 | READ, 1, 0)]
    assert found[0].time > 2.0
    assert found[0].same_cell == 1.0


def test_what_is_added_stands_between_the_ranked_lines():
    ranked = answer(line(20, WRITE, 2, 1.0), line(12, READ, 1, 2.0))
    completed = Completion(traced(*RACE), FakeInterner()).lines(ranked, 0)
    shown = Answer(**{**vars(ranked), "closing": completed}).shown
    assert [site_of(one.point) for one in shown] == [10, 20, 12]
    assert ranked.shown == ranked.lines


def _sites(run, ranked):
    return [site_of(one.point) for one in Completion(run, FakeInterner()).lines(ranked, 0)]


def test_the_access_that_fails_is_that_of_the_thread_on_the_failing_line():
    """A future hands its exception to the main thread, which never was there."""
    run = traced(*RACE[:2], (1, READ, 11, SOCK), RACE[2], (0, READ, 40, MODE))
    run.failing_thread = "0"
    frame = Frame("/src/m.py", 12, "close")
    ranked = answer(line(10, READ, 1, 1.0), line(20, WRITE, 2, 2.0))
    assert _sites(run, ranked) == [11]
    run.failures = (Failure("exception", "KeyError", "", "0", (frame,)),)
    assert _sites(run, ranked) == [12]


def test_what_the_program_swallowed_is_where_it_failed():
    """Not where its consequence showed, in another thread that was never there."""
    run = traced(*RACE[:2], (1, READ, 11, SOCK), RACE[2], (0, READ, 40, MODE))
    shown, raised = Frame("/src/m.py", 40, "check"), Frame("/src/m.py", 12, "close")
    run.failures = (Failure("assertion", "AssertionError", "", "0", (shown,)),)
    ranked = answer(line(10, READ, 1, 1.0), line(20, WRITE, 2, 2.0))
    assert _sites(run, ranked) == [11]
    run.caught = (Caught("KeyError", "", "0.1", 3, (raised,), raised),)
    run.failing_point = run.caught[0].kind
    assert _sites(run, ranked) == [12]


def test_the_change_during_an_iteration_is_shown():
    """The interpreter says so; the steps of a loop are no accesses."""
    later = [(1, READ, 10, SOCK), (2, WRITE, 20, SOCK), (1, READ, 12, SOCK), (2, WRITE, 21, SOCK)]
    run = traced(*later)
    ranked = answer(line(10, READ, 1, 1.0), line(20, WRITE, 2, 2.0))
    told = {"list changed": [12], "dictionary changed size during iteration": [12, 21]}
    for message, expected in told.items():
        run.failures = (Failure("exception", "RuntimeError", message, "0.1"),)
        found = Completion(run, FakeInterner()).lines(ranked, 0)
        assert [site_of(one.point) for one in found] == expected


def test_a_deadlock_is_its_waits():
    run = traced(*RACE, waiting=[(1, 30, LOCK)])
    assert Completion(run, FakeInterner()).events(Timeline(run).events[:2]) == []


@pytest.fixture
def proof():
    """The race, behind a hand-over of a lock and two rounds of a line that is shown."""
    run = traced(
        (2, RELEASE, 40, LOCK),
        (1, ACQUIRE, 41, LOCK),
        (1, READ, 10, SOCK),
        (2, WRITE, 20, SOCK),
        (1, READ, 10, SOCK),
        (2, WRITE, 20, SOCK),
        (1, READ, 12, SOCK),
    )
    timeline = Timeline(run)
    events = timeline.events
    orders = tuple(
        timeline.constraint(events[one], events[other]) for one, other in ((0, 1), (2, 3))
    )
    minimal = Minimal(orders, 10, 10, 0, run, timeline, "0.1", (events[4], events[5], events[6]))
    return Proof(0, minimal, Seen(tuple(events), None)), run


def test_what_only_brought_the_threads_there_is_set_up(proof):
    shown = proof_facts(*proof, FakeInterner())
    assert [event.setup for event in shown.events] == [True, True, True, True, False, False, False]
    assert shown.orders == [(0, 1), (2, 3)]


def test_what_the_failing_thread_did_last_is_no_step_if_it_is_its_own_affair():
    run = traced(*RACE, (1, READ, 13, MODE))
    timeline = Timeline(run)
    events = timeline.events
    orders = (timeline.constraint(events[0], events[1]), timeline.constraint(events[1], events[2]))
    minimal = Minimal(orders, 10, 10, 0, run, timeline, "0.1", tuple(events[:3]))
    shown = proof_facts(Proof(0, minimal, Seen(tuple(events), None)), run, FakeInterner())
    assert [event.setup for event in shown.events] == [False, False, False, True]


def test_a_long_explanation_has_no_orders_but_those_of_the_conflict():
    rounds = [(1 + at % 2, WRITE, 30 + at, MODE) for at in range(5)]
    run = traced(*rounds, *RACE)
    timeline = Timeline(run)
    events = timeline.events
    pairs = [(0, 1), (1, 2), (2, 3), (3, 4), (5, 6), (6, 7)]
    orders = tuple(timeline.constraint(events[one], events[other]) for one, other in pairs)
    minimal = Minimal(orders, 10, 10, 0, run, timeline, "0.1", tuple(events[5:]))
    shown = proof_facts(Proof(0, minimal, Seen(tuple(events), None)), run, FakeInterner())
    assert [event.setup for event in shown.events] == [True] * 5 + [False] * 3


def test_what_another_thread_did_to_the_same_cell_is_part_of_the_conflict():
    rounds = [(1 + at % 2, WRITE, 30 + at, MODE) for at in range(5)]
    run = traced((2, WRITE, 40, SOCK), *rounds, *RACE)
    timeline = Timeline(run)
    events = timeline.events
    pairs = [(1, 2), (2, 3), (3, 4), (4, 5), (0, 6)]
    orders = tuple(timeline.constraint(events[one], events[other]) for one, other in pairs)
    minimal = Minimal(orders, 10, 10, 0, run, timeline, "0.1", tuple(events[6:]))
    shown = proof_facts(Proof(0, minimal, Seen(tuple(events), None)), run, FakeInterner())
    assert [event.setup for event in shown.events] == [False] + [True] * 5 + [False] * 3


def long_proof(rows, orders, occurrence):
    """A proof whose explanation has more events than there is room for."""
    run = traced(*rows)
    timeline = Timeline(run)
    events = timeline.events
    made = tuple(timeline.constraint(events[one], events[other]) for one, other in orders)
    minimal = Minimal(made, 10, 10, 0, run, timeline, "0.1", tuple(events[at] for at in occurrence))
    shown = proof_facts(Proof(0, minimal, Seen(tuple(events), None)), run, FakeInterner())
    return [at for at, event in enumerate(shown.events) if event.setup]


def test_a_further_write_that_nobody_sees_is_left_out_where_it_is_long():
    looks = [(1, READ, at, SOCK) for at in (10, 11, 12, 13)]
    first = [(2, WRITE, 20, MODE), (1, READ, 9, MODE)]
    rows = [*first, *looks[:3], (2, WRITE, 22, SOCK), (2, WRITE, 21, MODE), looks[3]]
    every = range(len(rows))
    assert long_proof(rows, [(0, 1), (5, 7)], every) == [6]
    assert long_proof(rows[:4] + rows[5:], [(0, 1), (4, 6)], range(7)) == [5]
    assert long_proof([rows[0], rows[1], *rows[5:]], [(0, 1), (2, 4)], range(5)) == []


def test_what_is_only_ordered_and_came_before_the_conflict_is_left_out_where_it_is_long():
    looks = [(1, READ, at, SOCK) for at in (8, 9, 11)]
    rows = [(2, WRITE, 40, SOCK), (1, READ, 41, SOCK), *looks, *RACE]
    assert long_proof(rows, [(0, 1), (5, 6), (6, 7)], range(2, 8)) == [0, 1]
    assert long_proof(RACE, [(0, 1), (1, 2)], range(1, 3)) == []


def test_where_the_orders_are_all_there_is_they_are_shown(proof):
    whole, run = proof
    minimal = Minimal(**{**vars(whole.minimal), "occurrence": ()})
    events = whole.minimal.timeline.events
    bare = Proof(0, minimal, Seen((*events[:4], events[6]), None))
    shown = proof_facts(bare, run, FakeInterner())
    assert not any(event.setup for event in shown.events)


def test_the_conflict_that_an_order_of_its_neighbours_stands_for_is_shown():
    rows = [
        (1, WRITE, 10, SOCK),  # 0: the object is visible
        (2, READ, 20, SOCK),
        (2, READ, 21, MODE),  # 2: what it lacks
        (2, READ, 22, OTHER),  # 3: a neighbour
        (1, WRITE, 11, LAST),  # 4: a neighbour
        (1, WRITE, 12, MODE),  # 5: too late
        *((2, READ, at, SOCK) for at in (23, 24, 25, 26)),
        (1, READ, 13, SOCK),
    ]
    folded = long_proof(rows, [(0, 1), (3, 4)], (0, 1))
    assert {3, 4} <= set(folded) and not {2, 5} & set(folded)
