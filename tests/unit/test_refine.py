# SPDX-License-Identifier: Apache-2.0
"""The accesses nearest to an intrusion, on traces made by hand."""

from __future__ import annotations

import pytest
from tests.unit.traces import run_of

from unsnarl.experiments.refine import accesses, tightest
from unsnarl.model.event import Op
from unsnarl.placement.timeline import Timeline

READ, WRITE, CALL, ACQUIRE, RELEASE = Op.READ, Op.WRITE, Op.CALL, Op.ACQUIRE, Op.RELEASE
FLAG, COUNT, POOL, LOCK = 1, 2, 3, 9
# One thread looks at the flag, another one counts and sets the flag, the first counts and sets it.
SALE = [
    (1, READ, 10, FLAG),
    (2, WRITE, 20, COUNT),
    (2, WRITE, 21, FLAG),
    (1, READ, 20, COUNT),
    (1, WRITE, 20, COUNT),
    (1, WRITE, 21, FLAG),
]


def refined(events, *given, line=lambda event: event.site):
    timeline = Timeline(run_of(*events))
    chain = tuple(timeline.events[at] for at in given)
    return [event.at for event in tightest(timeline, chain, line)]


def test_what_it_follows_from_is_told_too():
    assert refined(SALE, 0, 2, 5) == [0, 1, 2, 3, 5]


def test_what_came_of_it_on_the_way_is_told_too():
    before = [(1, READ, 5, COUNT)]
    assert refined(before + SALE, 0, 2, 4) == [0, 1, 2, 3, 4]


def test_the_nearest_stays_as_it_is():
    assert refined([(1, READ, 10, FLAG), (2, WRITE, 21, FLAG), (1, WRITE, 21, FLAG)], 0, 1, 2) == [
        0,
        1,
        2,
    ]


def test_another_access_of_the_same_line_says_no_more():
    events = [
        (1, READ, 10, FLAG),
        (1, WRITE, 11, COUNT),  # on the same line
        (2, WRITE, 20, FLAG),
        (2, WRITE, 21, COUNT),
        (1, READ, 30, FLAG),
    ]
    one_line = {10: 1, 11: 1}
    told = refined(events, 0, 2, 4, line=lambda event: one_line.get(event.site, event.site))
    assert told == [0, 2, 4]
    assert refined(events, 0, 2, 4) == [0, 1, 2, 3, 4]


def test_an_end_that_conflicts_with_nothing_is_told_beside_what_does():
    events = [
        (1, READ, 10, POOL),
        (2, WRITE, 20, COUNT),
        (2, WRITE, 21, FLAG),
        (1, READ, 30, 7),
        (1, READ, 31, COUNT),
    ]
    assert refined(events, 0, 2, 3) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("told", [(0, 2), (1, 2, 5), ()])
def test_only_an_intrusion_has_two_ends(told):
    assert refined(SALE, *told) == []


def test_a_call_comes_when_the_library_takes_its_lock():
    events = [
        (1, READ, 10, FLAG),
        (1, CALL, 12, POOL),
        (2, WRITE, 20, FLAG),
        (2, CALL, 22, POOL),
        (2, ACQUIRE, 22, LOCK),
        (2, RELEASE, 22, LOCK),
        (1, ACQUIRE, 12, LOCK),
    ]
    timeline = Timeline(run_of(*events))
    assert [event.at for event in accesses(timeline)] == [0, 2, 4, 6]
    call, later = timeline.events[1], timeline.events[1]._replace(at=6)
    told = tightest(timeline, (call, timeline.events[3]._replace(at=5), later), lambda e: e.site)
    assert [(event.at, event.site) for event in told] == [(0, 10), (2, 20), (5, 22), (6, 12)]
