# SPDX-License-Identifier: Apache-2.0
"""Counters of fewer bits (ReCBuLC III.B.3)."""

import numpy as np
from evaluation.clock_unwrap import lift, unwrap
from evaluation.simulated_clocks import SimulatedClock

ROUND = 1 << 32


def test_a_counter_of_32_bits_is_counted_on():
    clock = SimulatedClock(offset=ROUND - 100, bits=32)
    moments = [0, 50, 99, 100, 5_000, ROUND - 1, ROUND + 200, 2 * ROUND]
    found = unwrap(np.array([clock.read(moment) for moment in moments]), 32)
    assert (found - found[0]).tolist() == moments


def test_what_does_not_wrap_stays():
    ticks = np.array([5, 6, 6, 900])
    assert unwrap(ticks, 32).tolist() == [5, 6, 6, 900]
    assert unwrap(np.array([5, 3]), 64).tolist() == [5, 3]
    assert unwrap(np.array([], np.uint32), 32).tolist() == []


def test_a_thread_that_comes_to_a_core_behind_has_not_wrapped():
    assert unwrap(np.array([1000, 900, 1100]), 32, slack=150).tolist() == [1000, 900, 1100]
    assert unwrap(np.array([1000, 800]), 32, slack=150).tolist() == [1000, 800 + ROUND]


def test_a_thread_may_fall_back_behind_the_border_and_cross_it_again():
    ticks = np.array([ROUND - 10, 5, ROUND - 20, 7])
    assert unwrap(ticks, 32, slack=100).tolist() == [
        ROUND - 10,
        ROUND + 5,
        ROUND - 20,
        ROUND + 7,
    ]


def test_unsigned_stamps_are_taken_as_they_come():
    assert unwrap(np.array([ROUND - 1, 0], np.uint32), 32).tolist() == [ROUND - 1, ROUND]


def test_a_threads_first_stamp_is_put_after_its_makers():
    assert lift(5, 3 * ROUND + 100, 32) == 4 * ROUND + 5
    assert lift(100, 3 * ROUND + 100, 32) == 3 * ROUND + 100
    assert lift(12345, 99, 64) == 12345
