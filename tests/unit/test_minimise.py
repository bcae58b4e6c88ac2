# SPDX-License-Identifier: Apache-2.0
"""Timelines, orders, occurrences of findings and explanations, on traces made by hand."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tests.unit.traces import run_of as run

from unsnarl.execution.labels import Judgement
from unsnarl.execution.result import Result
from unsnarl.execution.server import Done
from unsnarl.execution.symptom import Symptom
from unsnarl.experiments.arms import RUNS
from unsnarl.experiments.minimise import FEW_BATCHES, Minimal, _Search, explanation
from unsnarl.experiments.orders import conflicts, endings, hand_offs, orders, turns, waits
from unsnarl.model.event import Op
from unsnarl.placement.line_points import LinePoints
from unsnarl.placement.occurrence import are_implied, is_implied, occurrences
from unsnarl.placement.timeline import EventTimes, Timeline, departures

ACQUIRE, RELEASE, CALL = Op.ACQUIRE, Op.RELEASE, Op.CALL
READ, WRITE = Op.READ, Op.WRITE
CELL, LOCK = 1, 9


def spot(role, op, site):
    point = site << 4 | op
    return LinePoints((point,), (point,), role, (0, 0), (point,), (point,))


def places(pairs):
    return [(before.at, after.at) for before, after in pairs]


LOST_UPDATE = run(
    (1, READ, 10, CELL),
    (2, READ, 10, CELL),
    (2, WRITE, 11, CELL),
    (1, WRITE, 11, CELL),
    (0, READ, 12, CELL),
)
UPDATE = (spot(1, READ, 10), spot(2, WRITE, 11), spot(1, WRITE, 11))


def minimal_of(one, pairs, told=(), failing="0"):
    timeline = Timeline(one)
    events = timeline.events
    found = [timeline.constraint(events[before], events[after]) for before, after in pairs]
    return Minimal(tuple(found), 100, 100, 0, one, timeline, failing, tuple(told))


def test_occurrences_are_counted_by_thread():
    timeline = Timeline(run((1, READ, 10, 1), (2, READ, 10, 1), (1, READ, 10, 1)))
    assert [event.key[::2] for event in timeline.events] == [("0.1", 1), ("0.2", 1), ("0.1", 2)]
    assert timeline.find(("0.1", 160, 2)) == timeline.events[2]
    assert timeline.find(("0.1", 160, 3)) is None


def test_conflicts_are_neighbours_of_which_one_writes():
    # The second thread's read is not next to the first one's write: its own write is between.
    assert places(conflicts(Timeline(LOST_UPDATE))) == [(0, 2), (2, 3), (3, 4)]


def test_reads_of_two_threads_are_no_conflict():
    assert not places(conflicts(Timeline(run((1, READ, 10, CELL), (2, READ, 10, CELL)))))


def test_a_hand_off_goes_from_one_thread_to_another():
    taken, given = (1, ACQUIRE, 10, LOCK), (1, RELEASE, 11, LOCK)
    timeline = Timeline(run(taken, given, taken, given, (2, ACQUIRE, 10, LOCK)))
    assert places(hand_offs(timeline)) == [(3, 4)]


def test_a_deadlock_is_locks_taken_and_waited_for():
    timeline = Timeline(
        run((1, ACQUIRE, 10, 8), (2, ACQUIRE, 20, 9), waiting=[(1, 11, 9), (2, 21, 8)])
    )
    assert places(waits(timeline)) == [(1, 2), (0, 3)]
    assert timeline.failing("0") == timeline.pending


def test_who_waits_for_a_signal_too_late_is_held_before_the_lock_around_it():
    """Held at the wait, it would keep the lock that whoever gives the signal needs."""
    events = (2, WRITE, 20, CELL), (1, ACQUIRE, 10, LOCK)
    timeline = Timeline(run(*events, waiting=[(1, 11, 9)]))
    constraint = timeline.constraint(timeline.events[0], timeline.pending[0])
    assert constraint.hold == timeline.events[1]


def test_who_waits_in_no_code_of_the_target_is_not_what_fails():
    timeline = Timeline(run((1, READ, 10, CELL), waiting=[(1, 11, 9), (2, 0, 8)]))
    assert [event.site for event in timeline.pending] == [11]


def test_after_the_failing_access_comes_what_others_did_next():
    timeline = Timeline(LOST_UPDATE)
    assert places(endings(timeline, "0.2")) == [(2, 3), (2, 4)]
    assert not places(endings(timeline, "0"))


def test_a_turn_is_where_another_thread_takes_over():
    found = places(turns(Timeline(LOST_UPDATE)))
    assert sorted(found) == [(0, 1), (2, 3), (2, 4), (3, 4)]


def test_a_hold_is_lifted_out_of_the_lock_but_not_beyond_the_earlier_event():
    locked = [(1, ACQUIRE, 10, LOCK), (1, WRITE, 11, CELL), (1, RELEASE, 12, LOCK)]
    early = Timeline(run((2, WRITE, 20, CELL), *locked))
    assert early.constraint(early.events[0], early.events[2]).hold.at == 1
    inside = Timeline(run(locked[0], (2, WRITE, 20, CELL), *locked[1:]))
    assert inside.constraint(inside.events[1], inside.events[2]).hold.at == 2


def test_where_no_switch_is_possible_there_is_no_constraint():
    timeline = Timeline(run((2, WRITE, 20, CELL), (1, READ, 10, CELL), heads=[20]))
    assert timeline.constraint(*timeline.events) is None


def test_the_inverse_holds_the_earlier_thread():
    timeline = Timeline(LOST_UPDATE)
    one = timeline.constraint(timeline.events[0], timeline.events[2])
    inverse = timeline.inverse(one)
    assert (inverse.before.at, inverse.after.at, inverse.hold.at) == (2, 0, 0)


@pytest.mark.parametrize(
    "view", [lambda run, one: Timeline(run), lambda run, one: EventTimes(run, [one])]
)
def test_a_run_breaks_an_order_if_the_later_event_came_first_or_alone(view):
    timeline = Timeline(LOST_UPDATE)
    one = timeline.constraint(timeline.events[0], timeline.events[2])
    read, write = (1, READ, 10, CELL), (2, WRITE, 11, CELL)
    assert not view(LOST_UPDATE, one).breaks(one)
    assert view(run(write, read), one).breaks(one)
    assert view(run(write), one).breaks(one)
    assert not view(run(read), one).breaks(one)


def test_threads_leave_the_track_where_they_do_something_else():
    other = run((1, READ, 10, CELL), (2, READ, 10, CELL), (1, READ, 30, CELL), (2, WRITE, 11, CELL))
    assert departures(other, LOST_UPDATE) == {"0.1": 2}


def test_to_wait_for_what_will_not_come_is_in_vain():
    timeline = Timeline(LOST_UPDATE)
    one = timeline.constraint(timeline.events[2], timeline.events[3])
    elsewhere, write = (2, READ, 30, CELL), (1, WRITE, 11, CELL)
    late = run((1, READ, 10, CELL), elsewhere, write)
    assert not EventTimes(late, [one]).could_keep(one, departures(late, LOST_UPDATE))
    early = run((1, READ, 10, CELL), write, elsewhere)
    assert EventTimes(early, [one]).could_keep(one, departures(early, LOST_UPDATE))
    assert EventTimes(early, [one]).strays([one], departures(early, LOST_UPDATE))
    assert not EventTimes(LOST_UPDATE, [one]).strays([one], {})


def test_what_the_finding_tells_is_cheaper():
    timeline = Timeline(LOST_UPDATE)
    told = {(o.before.at, o.after.at): cost for o, cost in orders(timeline, UPDATE, "0").items()}
    plain = {(o.before.at, o.after.at): cost for o, cost in orders(timeline, (), "0").items()}
    assert told[0, 2] < plain[0, 2]
    assert told[2, 3] < plain[2, 3]
    assert told[3, 4] == plain[3, 4]


def test_an_occurrence_has_one_thread_for_each_role():
    (only,) = occurrences(Timeline(LOST_UPDATE), UPDATE)
    assert [event.at for event in only] == [0, 2, 3]
    assert occurrences(Timeline(LOST_UPDATE), ()) == []


def test_the_latest_occurrence_comes_first_and_is_the_shortest():
    again = [(1, READ, 10, CELL), (2, WRITE, 11, CELL), (1, WRITE, 11, CELL)]
    found = occurrences(Timeline(run(*again, *again)), UPDATE)
    assert [[event.at for event in one] for one in found] == [[3, 4, 5], [0, 1, 2]]


def test_an_order_is_implied_by_way_of_another_thread():
    one = run((1, READ, 1, 1), (1, WRITE, 2, 2), (2, READ, 3, 2), (2, WRITE, 4, 3), (0, READ, 5, 3))
    first, second = minimal_of(one, [(1, 2), (3, 4)]).constraints
    events = Timeline(one).events
    assert is_implied(events[0], events[4], [second, first])
    assert not is_implied(events[0], events[4], [second])
    assert not is_implied(events[2], events[1], [first, second])
    assert are_implied((events[0], events[1], events[3]), [first])


def test_an_explanation_has_the_events_of_the_constraints_and_the_failing_one():
    found = minimal_of(LOST_UPDATE, [(0, 2), (2, 3)])
    assert [event.at for event in explanation(found, found.timeline)] == [0, 2, 3, 4]


def test_an_explanation_has_what_the_finding_tells_within_a_thread():
    one = run((1, WRITE, 10, CELL), (1, WRITE, 10, CELL), (2, READ, 20, CELL))
    (chain,) = occurrences(
        Timeline(one), (spot(1, WRITE, 10), spot(1, WRITE, 10), spot(2, READ, 20))
    )
    found = minimal_of(one, [(1, 2)], chain, failing="0.2")
    assert found.implies_answer
    assert [event.at for event in explanation(found, found.timeline)] == [0, 1, 2]
    assert not minimal_of(one, [(1, 2)]).implies_answer


def test_a_lock_that_a_library_takes_is_told_as_the_call_when_it_was_taken():
    one = run(
        (1, CALL, 10, CELL),
        (2, CALL, 20, CELL),
        (2, RELEASE, 20, LOCK),
        (1, ACQUIRE, 11, LOCK),
    )
    found = minimal_of(one, [(2, 3)], failing="0.1")
    told = explanation(found, found.timeline)
    assert [(event.at, event.site, event.op) for event in told] == [(2, 20, CALL), (3, 10, CALL)]


def search_with(*outcomes):
    """A search whose trials, one batch after the other, end with these signatures ("": passed)."""
    left = list(outcomes)

    def trials(plans):
        ends = [left.pop(0) for _ in plans]
        judged = [Judgement("fail" if end else "pass", end) for end in ends]
        return [Result({}, Done(0), judgement) for judgement in judged]

    made = SimpleNamespace(run=trials, count=0, left=left)
    failing = SimpleNamespace(**vars(LOST_UPDATE), failing_thread="0")
    return _Search(made, (Symptom("ours"), {"another"}), failing, ())


def test_runs_that_another_failure_ended_are_made_up_for():
    search = search_with(*["another"] * 3, *["ours"] * 100)
    assert search._is_certified([])
    assert (search._best.reproduced, search._best.tries, search._best.odd) == (100, 100, 3)


def test_a_failure_that_nobody_knows_counts_against_the_choice():
    search = search_with(*["strange"] * 4, *["ours"] * 96)
    search._is_certified([])
    assert search._best.reproduced == search._best.tries - 4


def test_a_few_trials_certify_what_only_forces_and_the_others_are_made_later():
    search = search_with(*["ours"] * 100)
    search.batches = FEW_BATCHES
    assert search._is_certified([])
    assert search._best.tries == sum(FEW_BATCHES)
    assert search.gone_on(300).tries == 100
    assert not search._trials.left


def test_the_first_certifying_trials_are_those_of_an_arm():
    search = search_with(*["ours"] * 100)
    assert search._is_certified([])
    assert len(search.minimal(search._best).certifying) == RUNS
