# SPDX-License-Identifier: Apache-2.0
"""The search for the events of an answer's lines, on traces made by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.traces import run_of

from unsnarl.analyses.answer import Answer, Line
from unsnarl.model.event import Op
from unsnarl.placement.line_points import LinePoints
from unsnarl.placement.occurrence import (
    EventSearch,
    casts,
    latest_occurrence,
    occurrences,
    order_constraints,
)
from unsnarl.placement.timeline import Timeline

A, B, C = 10, 20, 30  # sites
# Two turns of a loop: thread 1 reads, thread 2 writes, thread 1 reads.
LOOP = [
    (1, Op.READ, A, 1),
    (2, Op.WRITE, B, 1),
    (1, Op.READ, A, 1),
    (1, Op.READ, A, 1),
    (2, Op.WRITE, B, 1),
    (1, Op.READ, C, 1),
]


def search(events, sites, roles, threads=None, fits=None):
    timeline = Timeline(run_of(*events))
    rows = [[event for event in timeline.events if event.site == site] for site in sites]
    return EventSearch(rows, roles, threads or {}, fits)


def times(found):
    return {line: event.at for line, event in found.items()}


def test_backwards_each_line_is_as_late_as_possible():
    found = search(LOOP, [A, B, C], [1, 2, 1]).backwards(range(3), 6, {}, partial=False)
    assert times(found) == {2: 5, 1: 4, 0: 3}


def test_forwards_each_line_is_as_early_as_possible():
    found = search(LOOP, [A, B, C], [1, 2, 1]).forwards(range(3), -1, {}, partial=False)
    assert times(found) == {0: 0, 1: 1, 2: 5}


def test_a_line_that_is_nowhere_ends_the_search_or_is_left_out():
    one = search(LOOP, [A, 99, C], [1, 2, 1])
    assert times(one.backwards(range(3), 6, {}, partial=False)) == {2: 5}
    assert times(one.backwards(range(3), 6, {}, partial=True)) == {2: 5, 0: 3}


def test_nothing_is_found_before_a_given_time():
    one = search(LOOP, [A, B], [1, 2])
    assert times(one.backwards(range(2), 6, {}, partial=True, since=3)) == {1: 4}


def test_roles_have_threads_of_their_own():
    both = [(1, Op.READ, A, 1), (2, Op.READ, B, 1), (1, Op.READ, B, 1)]
    assert times(search(both, [A, B], [1, 2]).forwards(range(2), -1, {}, partial=False)) == {
        0: 0,
        1: 1,
    }
    same = search(both, [A, B], [1, 1]).forwards(range(2), -1, {}, partial=False)
    assert times(same) == {0: 0, 1: 2}


def test_a_thread_that_is_given_to_one_role_is_no_other_ones():
    both = [(1, Op.READ, A, 1), (2, Op.READ, B, 1)]
    one = search(both, [A, B], [1, 2], threads={1: "0.2"})
    assert times(one.backwards(range(2), 2, {}, partial=True)) == {}


def test_a_line_may_have_to_fit_what_was_found_for_others():
    events = [(1, Op.WRITE, A, 7), (1, Op.WRITE, A, 8), (2, Op.READ, B, 7)]

    def same_cell(line, event, found):
        return all(event.cell == other.cell for other in found.values())

    one = search(events, [A, B], [1, 2], fits=same_cell)
    assert times(one.backwards(range(2), 3, {}, partial=False)) == {1: 2, 0: 0}


def test_all_ways_to_give_roles_threads():
    assert list(casts([2, 1, 2], {"b", "a"})) == [{2: "a", 1: "b"}, {2: "b", 1: "a"}]


def lines(*pairs):
    return [LinePoints((site << 4 | op,), (), role) for site, op, role in pairs]


INTRUSION = lines((A, Op.READ, 1), (B, Op.WRITE, 2), (C, Op.READ, 1))


def test_of_whole_occurrences_the_shortest_from_each_beginning():
    found = occurrences(Timeline(run_of(*LOOP)), INTRUSION)
    assert [[event.at for event in one] for one in found] == [[3, 4, 5]]


def test_the_latest_occurrence_may_be_only_a_beginning():
    timeline = Timeline(run_of(*LOOP[:5]))
    assert [event.at for event in latest_occurrence(timeline, INTRUSION)] == [3, 4]
    assert occurrences(timeline, INTRUSION) == []
    (only,) = order_constraints(timeline, INTRUSION)
    assert (only.before.at, only.after.at) == (3, 4)


def test_what_a_library_does_in_a_call_is_the_call_for_experiments_but_not_for_rules():
    events = [(1, Op.CALL, A, 1), (2, Op.WRITE, B, 2), (1, Op.ACQUIRE, A + 1, 9)]
    timeline = Timeline(run_of(*events))
    wanted = lines((B, Op.WRITE, 2), (A, Op.CALL, 1))
    assert [[event.at for event in one] for one in occurrences(timeline, wanted)] == [[1, 2]]
    assert [event.at for event in latest_occurrence(timeline, wanted)] == [1]


LINE = Line(3, "source", 1, 0.9, 1.0, 0.5, 1.0, 0)


@pytest.fixture
def answer():
    return Answer("joined", 1.0, {}, (LINE, replace(LINE, point=4, role=2, anchor=1)), (0,), 1, {})


def test_answers_that_say_the_same_have_the_same_key(answer):
    assert answer.key == ((3, 1, 0), (4, 2, 1))
    assert replace(answer, score=0.5, threads={0: {0: 1}}).key == answer.key
    assert {answer.key: "kept"}[replace(answer, lines=tuple(answer.lines)).key] == "kept"
    assert replace(answer, lines=answer.lines[:1]).key != answer.key
