# SPDX-License-Identifier: Apache-2.0
"""From stamps to gaps, windows and table IV."""

import numpy as np
import pytest
from evaluation.simulated_clocks import SimulatedClock, messages

from unsnarl.recording.clocks.observed import (
    STAMPS,
    Observed,
    Reading,
    Test,
    differences,
    gaps,
    reading_for,
)
from unsnarl.recording.clocks.ranges import ClockRange, TestRange

CLOCKS = SimulatedClock(1000), SimulatedClock(1040)


def stamps(*sent):
    return messages(CLOCKS, sent)


def test_the_smallest_gap_of_every_direction_is_found():
    assert gaps(stamps((0, 10, 100), (0, 50, 90), (1, 70, 60))) == {(0, 1): 130, (1, 0): 20}


def test_no_stamps_no_gaps():
    assert gaps(np.empty(0, STAMPS)) == {}


def test_differences_have_one_sign_for_both_ways():
    there, back = differences(stamps((0, 10, 100), (1, 70, 60)), 0, 1)
    assert (there.tolist(), back.tolist()) == ([140], [-20])


def test_windows_are_intersected_and_their_middles_kept():
    seen = Observed()
    seen.begin_window()
    seen.include(Test.EXCHANGE, stamps((0, 0, 100), (1, 0, 100)))
    seen.begin_window()
    seen.include(Test.EXCHANGE, stamps((0, 0, 80), (1, 0, 110)))
    assert seen.gaps() == {(0, 1): 120, (1, 0): 60}
    assert [*seen.middles()] == [ClockRange(0, 1, 25, 35)]


def test_the_middle_of_a_window_without_luck_says_nothing():
    """Else a busy machine would be taken for one whose clocks drift."""
    seen = Observed()
    for back in (100, 140, 9000):
        seen.begin_window()
        seen.include(Test.EXCHANGE, stamps((0, 0, 100), (1, 0, back)))
    assert [*seen.middles()] == [ClockRange(0, 1, 40, 40)]


def test_table_iv_has_a_row_for_every_test_and_drops_the_useless():
    seen = Observed()
    seen.begin_window()
    seen.include(Test.EXCHANGE, stamps((0, 0, 100), (0, 5, 130), (1, 0, 100)))
    seen.include(Test.SERIALISE, stamps((0, 0, 9000), (1, 0, 9000)))
    assert [*seen.tests()] == [
        TestRange("fig. 5(b)", 0, 1, -8960, 9040, 2, "too wide"),
        TestRange("fig. 5(c)", 0, 1, -60, 140, 3),
    ]


def test_a_test_without_a_row_is_named():
    """A host that takes a core away while a short loop runs leaves it one direction only."""
    seen = Observed()
    seen.begin_window()
    seen.include(Test.EXCHANGE, stamps((0, 0, 100), (1, 0, 100)))
    seen.include(Test.SERIALISE, stamps((0, 0, 9000)))
    assert [row.test for row in seen.tests()] == ["fig. 5(c)"]
    assert [*seen.without_range()] == [
        "fig. 5(b) has no row: it did not see messages both ways between cores 0 and 1"
    ]


def test_a_core_says_nothing_about_itself():
    seen = Observed()
    seen.begin_window()
    own = stamps((0, 0, 100))
    own["second_core"] = 0
    seen.include(Test.COMPARE, own)
    assert seen.gaps() == {}
    assert [*seen.tests()] == []


@pytest.mark.parametrize(
    ("test", "source", "reading"),
    [
        (Test.FENCES, "counter", Reading.FULL),
        (Test.EXCHANGE, "counter", Reading.DRAINED),
        (Test.EXCHANGE, "kernel", Reading.KERNEL),
        (Test.FENCES, "kernel", Reading.KERNEL),
    ],
)
def test_each_test_reads_the_clock_with_the_fences_that_it_needs(test, source, reading):
    assert reading_for(test, source) is reading
