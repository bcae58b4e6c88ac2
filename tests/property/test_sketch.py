# SPDX-License-Identifier: Apache-2.0
"""Laws of sketches: proved orders are true, and the few that are kept imply all of them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.test_pres import ENTER, clocks, record

from unsnarl.model.site import Op
from unsnarl.reproduce.pres.base import Times
from unsnarl.reproduce.pres.sketch import Sketch, direct_orders

POINTS = (ENTER, 32 | Op.ACQUIRE)
SLACK = 40


@st.composite
def runs(draw):
    """Threads with the true time of every event, and a record of them on two skewed clocks."""
    low, high = sorted(draw(st.tuples(st.integers(-60, 60), st.integers(-60, 60))))
    skew = draw(st.integers(low, high))
    times = iter(draw(st.permutations([t * draw(st.integers(1, 25)) for t in range(1, 25)])))
    threads, true = [], []
    for _ in range(draw(st.integers(1, 4))):
        moments = sorted({next(times) for _ in range(draw(st.integers(0, 6)))})
        rows = []
        for moment in moments:
            core, point = draw(st.integers(0, 1)), draw(st.sampled_from(POINTS))
            lie = 0 if point & 15 == Op.ACQUIRE else draw(st.integers(-SLACK, SLACK))
            rows.append((moment + core * skew + lie + 1000, core, point))
        threads.append(_rising(rows))
        true.append([moment for moment, row in zip(moments, threads[-1], strict=True) if row])
    return true, record(*threads, slack=SLACK), clocks(low, high)


def _rising(rows):
    """A core's clock never falls, so a lie cannot overtake the stamp before it."""
    last = {}
    found = []
    for stamp, core, point in rows:
        last[core] = max(stamp, last.get(core, stamp))
        fenced = point & 15 == Op.ACQUIRE
        found.append((stamp if fenced else last[core], core, point))
    return found


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
