# SPDX-License-Identifier: Apache-2.0
"""Laws of clock ranges, on simulated clocks: whatever the skew, no wrong order is ever claimed."""

import dataclasses

import numpy as np
from evaluation.clock_unwrap import unwrap
from evaluation.simulated_clocks import SimulatedClock, messages
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from unsnarl.errors import ToolError
from unsnarl.recording.clocks.observed import gaps
from unsnarl.recording.clocks.ranges import hard_ranges

# Laws of numbers: how long the machine takes over them, or over finding examples, is no matter.
LAW = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
OFFSETS = st.integers(10**9, 10**9 + 10**6)
MOMENTS = st.integers(10**6, 10**6 + 5_000)


@st.composite
def machines(draw):
    """Two clocks, what their messages show, and the margin that the steps make necessary."""
    grain = draw(st.integers(1, 40))
    phases = st.integers(0, grain - 1)
    clocks = tuple(SimulatedClock(draw(OFFSETS), grain, draw(phases)) for _ in range(2))
    long_way = draw(st.booleans())  # a message takes longer than a step, or any time at all
    takes = st.integers(grain if long_way else 1, 400)
    one_way = st.lists(st.tuples(MOMENTS, takes), min_size=1, max_size=20)
    sent = [(0, *some) for some in draw(one_way)] + [(1, *some) for some in draw(one_way)]
    moved = tuple(dataclasses.replace(clock, phase=draw(phases)) for clock in clocks)
    return clocks, moved, gaps(messages(clocks, sent)), grain if long_way else 2 * grain


@settings(LAW, max_examples=400)
@given(machines(), MOMENTS, MOMENTS)
def test_no_wrong_order_is_ever_claimed(machine, here, there):
    clocks, _, seen, margin = machine
    found = hard_ranges(seen, margin)[0]
    a, b = clocks[0].read(here), clocks[1].read(there)
    assert not found.before(a, b) or here < there
    assert not found.flipped().before(b, a) or there < here


@settings(LAW, max_examples=400)
@given(machines(), MOMENTS, MOMENTS)
def test_nor_if_the_cores_have_since_come_to_step_at_other_moments(machine, here, there):
    """As in a virtual machine whose cores were moved: the reason for the margin."""
    _, moved, seen, margin = machine
    found = hard_ranges(seen, margin)[0]
    a, b = moved[0].read(here), moved[1].read(there)
    assert not found.before(a, b) or here < there
    assert not found.flipped().before(b, a) or there < here


@LAW
@given(machines())
def test_the_range_contains_the_skew(machine):
    clocks, _, seen, margin = machine
    found = hard_ranges(seen, margin)[0]
    assert found.low <= clocks[1].offset - clocks[0].offset <= found.high


@LAW
@given(machines(), machines())
def test_more_observations_never_widen_a_range(machine, other):
    _, _, seen, _ = machine
    more = {pair: min(gap, other[2].get(pair, gap)) for pair, gap in seen.items()}
    assume(sum(more.values()) >= 0)
    assert hard_ranges(more)[0].width <= hard_ranges(seen)[0].width


@LAW
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 500)), min_size=1))
def test_ranges_through_third_cores_contain_every_possible_skew(observed):
    """Zero skews explain any gaps of 0 and more, so 0 must stay inside of every range."""
    seen = {(a, b): gap for a, b, gap in observed if a != b}
    try:
        ranges = hard_ranges(seen)
    except ToolError:
        raise AssertionError("consistent gaps were taken for a drift") from None
    assert all(found.low <= 0 <= found.high for found in ranges)


@LAW
@given(
    st.integers(8, 32),
    st.integers(0, 2**40),
    st.lists(st.floats(0, 0.999, allow_nan=False), max_size=50),
)
def test_unwrapped_stamps_are_the_true_time(bits, offset, steps):
    """If two stamps in a row are less than a round apart."""
    clock = SimulatedClock(offset=offset, bits=bits)
    moments = np.cumsum([0, *(int(step * (1 << bits)) for step in steps)])
    ticks = np.array([clock.read(int(moment)) for moment in moments])
    found = unwrap(ticks, bits)
    assert (found - found[0]).tolist() == moments.tolist()


@LAW
@given(
    st.integers(12, 32),
    st.integers(0, 100),
    st.lists(st.tuples(st.booleans(), st.floats(0, 0.8)), min_size=1, max_size=50),
)
def test_unwrapped_stamps_of_a_thread_that_moves_between_cores(bits, skew, steps):
    """Its stamps may fall back by the skew, also across the border."""
    cores = SimulatedClock(5, bits=bits), SimulatedClock(5 + skew, bits=bits)
    endless = SimulatedClock(5), SimulatedClock(5 + skew)
    moment, ticks, true = 0, [cores[0].read(0)], [endless[0].read(0)]
    for other, step in steps:
        moment += int(step * (1 << bits))
        ticks.append(cores[other].read(moment))
        true.append(endless[other].read(moment))
    found = unwrap(np.array(ticks), bits, slack=skew)
    assert (found - found[0]).tolist() == [one - true[0] for one in true]
