# SPDX-License-Identifier: Apache-2.0
"""The native test loops (native/clock/calibrate.c), and what their stamps say."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from unsnarl.recording.clocks.ranges import ClockRange, Gaps, Source, TestRange, smallest

if TYPE_CHECKING:
    from numpy.typing import NDArray

# struct uns_stamps
STAMPS = np.dtype(
    [("first", "<i8"), ("second", "<i8"), ("first_core", "<u4"), ("second_core", "<u4")]
)
USELESS = 10  # times as wide as all tests together: such a test is dropped
MOST_MESSAGES = 4_000_000  # that are kept: about 100 MB
MOST_SECONDS = 5.0  # for one loop: another thread that never comes must not hold us up


class Test(enum.IntEnum):
    """enum uns_clock_test."""

    __test__ = False  # not pytest's

    FENCES = 0
    SERIALISE = 1
    EXCHANGE = 2
    COMPARE = 3
    PING_PONG = 4
    TRIGGER = 5
    UNSEEN = 6


class Reading(enum.IntEnum):
    """enum uns_clock_reading; clock.h says what each of them promises."""

    FULL = 0
    DRAINED = 1
    BARE = 2
    KERNEL = 3


LABELS = {
    Test.FENCES: "fig. 5(a)",
    Test.SERIALISE: "fig. 5(b)",
    Test.EXCHANGE: "fig. 5(c)",
    Test.COMPARE: "fig. 5(d)",
    Test.PING_PONG: "ping-pong",
    Test.TRIGGER: "fig. 6",
    Test.UNSEEN: "fig. 2(b)",
}
PROGRAMS = (Test.FENCES, Test.SERIALISE, Test.EXCHANGE, Test.COMPARE, Test.PING_PONG)


def reading_for(test: Test, source: Source) -> Reading:
    """Figure 5(a) needs the full fences; the others empty the write buffer by themselves."""
    if source == "kernel":
        return Reading.KERNEL
    return Reading.FULL if test in (Test.FENCES, Test.SERIALISE) else Reading.DRAINED


def observe(
    test: Test,
    reading: Reading,
    cores: tuple[int, ...] | None,
    runs: int,
    seconds: float = MOST_SECONDS,
) -> NDArray[np.void]:
    """Run a loop, on these cores or wherever its threads happen to be, and give its stamps."""
    from unsnarl import _core  # noqa: PLC0415  not for --help, nor for simulated clocks

    return np.frombuffer(_core.clock_calibrate(test, reading, cores, runs, seconds), STAMPS)


def ping_pong(reading: Reading, cores: tuple[int, ...] | None, runs: int) -> NDArray[np.void]:
    """Messages there and back, half of the time begun by the other core.

    Who begins does more between two messages, which makes the ways there and back unequal; taken in
    turn the two kinds cancel out in any run of consecutive messages.
    """
    begun = observe(Test.PING_PONG, reading, cores, runs // 2)
    others = observe(Test.PING_PONG, reading, cores and cores[::-1], runs - runs // 2)
    both = min(len(begun), len(others))
    return np.stack((begun[:both], others[:both]), axis=1).ravel()


def gaps(stamps: NDArray[np.void]) -> dict[tuple[int, int], int]:
    """For every direction between two cores the smallest gap."""
    found = {}
    between = stamps["second"] - stamps["first"]
    for pair in np.unique(stamps[["first_core", "second_core"]]).tolist():
        mine = (stamps["first_core"] == pair[0]) & (stamps["second_core"] == pair[1])
        found[pair] = int(between[mine].min())
    return found


def differences(
    stamps: NDArray[np.void], first: int, second: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Clock of `second` minus that of `first`: over messages to `second`, and over those back.

    In equation 4's terms: where the thread on `first` was earlier, and where it was later.
    """
    between = stamps["second"] - stamps["first"]
    there = (stamps["first_core"] == first) & (stamps["second_core"] == second)
    back = (stamps["first_core"] == second) & (stamps["second_core"] == first)
    return between[there], -between[back]


class Observed:
    """What the tests have shown so far, window by window.

    Attributes:
        windows: The smallest gaps of each window.
        messages: The stamps of the ping-pong, for estimates, if they are wanted.
    """

    def __init__(self, messages: bool = True) -> None:
        self.windows: list[dict[tuple[int, int], int]] = []
        self.messages: list[NDArray[np.void]] = []
        self._room = MOST_MESSAGES if messages else 0
        self._by_test: dict[Test, dict[tuple[int, int], int]] = {}
        self._runs: dict[tuple[Test, int, int], int] = {}

    def begin_window(self) -> None:
        """What is added from now on was seen at about the same time."""
        self.windows.append({})

    def add(self, test: Test, reading: Reading, cores: tuple[int, ...] | None, runs: int) -> None:
        """Run a test and remember what it shows."""
        if test is Test.PING_PONG:
            self.include(test, ping_pong(reading, cores, runs))
        else:
            self.include(test, observe(test, reading, cores, runs))

    def include(self, test: Test, stamps: NDArray[np.void]) -> None:
        """Remember what the stamps of a test show; a core says nothing about itself."""
        stamps = stamps[stamps["first_core"] != stamps["second_core"]]
        found = gaps(stamps)
        self.windows[-1] = smallest((self.windows[-1], found))
        self._by_test[test] = smallest((self._by_test.get(test, {}), found))
        for pair in found:
            both = (test, min(pair), max(pair))
            mine = (stamps["first_core"] == pair[0]) & (stamps["second_core"] == pair[1])
            self._runs[both] = self._runs.get(both, 0) + int(mine.sum())
        if test is Test.PING_PONG and self._room > 0:
            self.messages.append(stamps)
            self._room -= len(stamps)

    def gaps(self) -> dict[tuple[int, int], int]:
        """Of all windows together."""
        return smallest(self.windows)

    def middles(self) -> Iterator[ClockRange]:
        """For every pair, between which values the skew must have been from window to window.

        No message is faster than half the narrowest window is wide. A window in which one direction
        had no luck therefore leaves an interval, not a point: what counts is the value in it that
        is nearest to the middle of the narrowest window. Its own middle would look like a drift.
        """
        for first, second in sorted({pair for pair in self.gaps() if pair[0] < pair[1]}):
            found = [_range_of(window, first, second) for window in self.windows]
            ranges = [(low, high) for low, high in filter(None, found)]
            if ranges:
                nearest = [*_nearest(ranges)]
                yield ClockRange(first, second, min(nearest), max(nearest))

    def tests(self) -> Iterator[TestRange]:
        """Table IV: what each test alone would say, over all windows."""
        gaps = self.gaps()
        for test, first, second in sorted(self._runs):
            found = _range_of(self._by_test[test], first, second)
            together = _range_of(gaps, first, second)
            if found is None or together is None:
                continue
            wide = found[1] - found[0] > USELESS * max(together[1] - together[0], 1)
            why = "too wide" if wide else ""
            runs = self._runs[test, first, second]
            yield TestRange(LABELS[test], first, second, *found, runs, why)

    def without_range(self) -> Iterator[str]:
        """The tests that table IV has no row for, with the reason.

        A loop has a time limit. On a host that takes a core away, the short ones may end before one
        of the two threads was late even once.
        """
        met = [(first, second) for first, second in self.gaps() if first < second]
        for test, (first, second) in itertools.product(sorted(self._by_test), sorted(met)):
            if _range_of(self._by_test[test], first, second) is None:
                yield (
                    f"{LABELS[test]} has no row: it did not see messages both ways between cores "
                    f"{first} and {second}"
                )


def _nearest(ranges: list[tuple[int, int]]) -> Iterator[int]:
    """What each window allows that is nearest to the middle of the narrowest one."""
    low, high = min(ranges, key=lambda found: found[1] - found[0])
    middle, way = (low + high) // 2, (high - low) // 2
    for low, high in ranges:
        yield min(max(middle, low + way), high - way)


def _range_of(some: Gaps, first: int, second: int) -> tuple[int, int] | None:
    if (first, second) not in some or (second, first) not in some:
        return None
    return -some[second, first], some[first, second]
