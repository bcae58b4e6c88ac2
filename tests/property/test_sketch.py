# SPDX-License-Identifier: Apache-2.0
"""Laws of sketches: proved orders are true, and the few that are kept imply all of them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.test_pres import ENTER, clocks, record

from unsnarl.model.event import Op
from unsnarl.reproduce.pres.base import FAR, LATE, Times
from unsnarl.reproduce.pres.sketch import Sketch, direct_orders

POINTS = (ENTER, 32 | Op.ACQUIRE)
STEP = 100  # ticks, so that some stamps fit between two moments
SLACK = 40 * STEP


@st.composite
def runs(draw):
    """Threads with the true time of every event, and a record of them on two skewed clocks."""
    sides = st.integers(-60, 60)
    low, high = (STEP * side for side in sorted(draw(st.tuples(sides, sides))))
    skew = draw(st.integers(low, high))
    times = iter(draw(st.lists(st.integers(1, 300), min_size=24, max_size=24, unique=True)))
    true = [
        sorted(STEP * next(times) for _ in range(draw(st.integers(0, 6))))
        for _ in range(draw(st.integers(1, 4)))
    ]
    rows = {}
    for thread, moments in enumerate(true):
        for place, moment in enumerate(moments):
            core, point = draw(st.integers(0, 1)), draw(st.sampled_from(POINTS))
            off = 0 if point & 15 == Op.ACQUIRE else draw(st.integers(-SLACK, LATE))
            exact = moment + core * skew + 100_000
            rows[moment, thread, place] = [exact + off, core, point, exact]
    for core in (0, 1):
        _in_order([rows[key] for key in sorted(rows) if rows[key][1] == core])
    threads = [
        [tuple(rows[moment, thread, place][:3]) for place, moment in enumerate(moments)]
        for thread, moments in enumerate(true)
    ]
    return true, record(*threads, slack=SLACK), clocks(low, high)


def _in_order(rows):
    """The stamps of one core rise, whoever runs there: the kernel's switches are fences."""
    fenced = FAR
    for row in reversed(rows):
        row[0] = min(row[0], fenced - STEP // 2)
        if row[2] & 15 == Op.ACQUIRE:
            fenced = row[0] = row[3]
    last = 0
    for row in rows:
        row[0] = last = max(row[0], last + 1)


def _reached(threads, edges):
    """By event all that are before it, by going back along the edges."""
    before = {}

    def of(event):
        if event not in before:
            before[event] = set()
            for one in edges(event):
                before[event] |= {one} | of(one)
        return before[event]

    for thread, count in enumerate(threads):
        for place in range(count):
            of((thread, place))
    return before


@given(runs())
def test_what_is_proved_is_true(case):
    true, recorded, known = case
    times = Times(recorded, known)
    for thread, moments in enumerate(true):
        for other, theirs in enumerate(true):
            if other == thread:
                continue
            for moment, count in zip(moments, times.before(thread, other), strict=True):
                assert all(one < moment for one in theirs[: int(count)])


@given(runs())
def test_the_few_orders_kept_imply_all_that_are_proved(case):
    _, recorded, known = case
    sketch = Sketch(recorded, known)
    direct = direct_orders(Times(recorded, known))
    counts = [len(points) for points in sketch.points]

    def proved(event):
        thread, place = event
        latest = enumerate(direct[thread][place])
        return [(other, int(count) - 1) for other, count in latest if count]

    def kept(event):
        thread, place = event
        own = [(thread, place - 1)] if place else []
        return own + [(other, count - 1) for other, count in sketch.needs[thread].get(place, ())]

    whole, few = _reached(counts, proved), _reached(counts, kept)
    closed = {event: _with_earlier(found) for event, found in whole.items()}
    assert closed == {event: _with_earlier(found) for event, found in few.items()}
    for (thread, place), found in closed.items():
        row = [sum(1 for other, _ in found if other == t) for t in range(len(counts))]
        assert sketch.closure[thread][place].tolist() == row


def _with_earlier(found):
    return {(thread, at) for thread, place in found for at in range(place + 1)}


@given(runs())
def test_the_base_keeps_every_order(case):
    _, recorded, known = case
    sketch = Sketch(recorded, known)
    done = np.zeros(len(sketch.paths), dtype=int)
    for thread, place in sketch.order:
        assert place == done[thread]
        assert np.all(sketch.closure[thread][place] <= done)
        done[thread] += 1
    assert done.tolist() == [len(points) for points in sketch.points]
