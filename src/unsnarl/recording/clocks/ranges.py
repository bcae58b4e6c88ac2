# SPDX-License-Identifier: Apache-2.0
"""Clock ranges: from bounds on the skew to the order of stamps (ReCBuLC III.B, equations 1 to 3).

Every observation is a message: the stamp before it on one core, the stamp after it on another. The
skew is less than the gap between the two. The smallest gap in each direction makes the range.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any, Literal, NamedTuple

import msgspec

from unsnarl.errors import ToolError

Source = Literal["counter", "kernel"]
MOST = 1 << 62  # ticks: sums of two stay below 64 bits
Gaps = Mapping[tuple[int, int], int]  # (core of the first stamp, of the second) -> smallest gap


class Stamp(NamedTuple):
    """One reading of a clock: which core's, and what it showed."""

    core: int
    ticks: int


class ClockRange(msgspec.Struct, frozen=True):
    """The interval known to contain the skew of two cores: clock of `second` minus that of `first`.

    Both ends belong to it. Only this range proves an order; estimates never do.
    """

    first: int
    second: int
    low: int
    high: int

    def __post_init__(self) -> None:
        if not -MOST < self.low <= self.high < MOST:
            raise ValueError(f"no range: {self.low} to {self.high}")

    @property
    def width(self) -> int:
        """The larger it is, the more stamps it leaves unordered."""
        return self.high - self.low

    def flipped(self) -> ClockRange:
        """The same, seen from the other core."""
        return ClockRange(self.second, self.first, -self.high, -self.low)

    def before(self, first: Any, second: Any) -> Any:
        """Was the stamp on core `first` certainly taken before the one on core `second`?

        Numbers or arrays of signed numbers. Figure 3: TS1 + d2 < TS2.
        """
        return second - first > self.high


class TestRange(msgspec.Struct, frozen=True):
    """What one test program showed of two cores: a row of table IV, without any margin.

    Attributes:
        runs: Observations behind it, in both directions.
        dropped: Why it does not count, if it does not.
    """

    __test__ = False  # not pytest's

    test: str
    first: int
    second: int
    low: int
    high: int
    runs: int
    dropped: str = ""


class Estimate(msgspec.Struct, frozen=True):
    """Where the skew probably is: a cell of table V. Never used to prove an order.

    Attributes:
        scheme: `figure 6`, or `messages`: the same equations on two cores.
        value: The estimate, equation 7.
        low: Lower end of the confidence interval, equation 9.
        high: Upper end.
        n: Runs behind one sample.
        m: Samples.
    """

    scheme: str
    first: int
    second: int
    value: float
    confidence: float
    low: float
    high: float
    n: int
    m: int


class Clocks(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the clocks of one machine since it was started.

    Attributes:
        boot: The kernel's id of this start of the machine.
        suspended: Seconds that it has slept until then: counters may change in their sleep.
        source: `counter`, or `kernel` (clock_gettime) where the counter was refused.
        refused: Why the counter was refused.
        frequency: Ticks per second.
        grain: The smallest step that the clock makes, in ticks.
        margin: What every range has been widened by, on either side.
        pinned: Whether the threads were bound to cores while measuring.
        virtual: Whether this is a virtual machine, whose cores may be moved.
        windows: How many times, one after the other, all tests were done.
        measured: When, in seconds since 1970.
        ranges: What proves an order.
        middles: Where the skew was in each window if messages were as fast as in the narrowest:
            they must lie inside `ranges`.
    """

    version: int = 1
    boot: str
    suspended: float
    source: Source
    refused: str = ""
    frequency: float
    grain: int
    margin: int
    pinned: bool
    virtual: bool
    windows: int
    measured: float
    ranges: tuple[ClockRange, ...]
    middles: tuple[ClockRange, ...] = ()
    tests: tuple[TestRange, ...] = ()
    estimates: tuple[Estimate, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not (math.isfinite(self.frequency) and self.frequency > 0 <= self.margin):
            raise ValueError(f"no clock: {self.frequency} Hz, margin {self.margin}")

    def range(self, first: int, second: int) -> ClockRange | None:
        """The range of two cores, in this order; None if they were not measured."""
        if first == second:
            return ClockRange(first, first, 0, 0)
        for found in self.ranges:
            if (found.first, found.second) == (first, second):
                return found
            if (found.first, found.second) == (second, first):
                return found.flipped()
        return None

    def before(self, a: Stamp, b: Stamp) -> bool:
        """Was `a` certainly taken before `b`? If not, nothing is proved: ask for `b`, too."""
        found = self.range(a.core, b.core)
        return found is not None and bool(found.before(a.ticks, b.ticks))

    @property
    def widest(self) -> int:
        """The width of the widest range."""
        return max((found.width for found in self.ranges), default=0)

    @property
    def wobble(self) -> int:
        """How far the middles of two windows were apart, at most."""
        return max((found.width for found in self.middles), default=0)

    def checked(self) -> Clocks:
        """Itself, if every window's middle is inside the range.

        Raises:
            ToolError: One is not: the skew is not constant, nor nearly so.
        """
        for middle in self.middles:
            found = self.range(middle.first, middle.second)
            if found and not found.low <= middle.low <= middle.high <= found.high:
                how = f"from window to window it moved by {middle.width} ticks"
                raise drift(middle.first, middle.second, how)
        return self


def hard_ranges(gaps: Gaps, margin: int = 0) -> tuple[ClockRange, ...]:
    """Equation 3 for every pair of cores that messages went between, directly or by others.

    Raises:
        ToolError: The observations contradict each other: the skew is not constant.
    """
    cores = sorted({core for pair in gaps for core in pair})
    bounds = _through_others({pair: gap + margin for pair, gap in gaps.items()}, cores)
    return tuple(
        _range(first, second, bounds)
        for first, second in combinations(cores, 2)
        if (first, second) in bounds and (second, first) in bounds
    )


def _range(first: int, second: int, bounds: Gaps) -> ClockRange:
    low, high = -bounds[second, first], bounds[first, second]
    # Each bound alone is certain, so an empty range refutes that the skew is constant (ReCBuLC II).
    if low > high:
        raise drift(first, second, f"it was at least {low} and at most {high} ticks at once")
    return ClockRange(first, second, low, high)


def drift(first: int, second: int, how: str) -> ToolError:
    """The one assumption of it all does not hold (end of the paper's section II)."""
    return ToolError(
        "clocks-drift",
        f"the clocks of cores {first} and {second} do not keep their distance: {how}",
        "stamps of this machine prove no order; record with --order global",
    )


def _through_others(bounds: dict[tuple[int, int], int], cores: list[int]) -> Gaps:
    """Skews add up, so a third core may bound two others more narrowly than they do themselves."""
    far = float("inf")
    for via in cores:
        for first in cores:
            for second in cores:
                way = bounds.get((first, via), far) + bounds.get((via, second), far)
                if first != second and way < bounds.get((first, second), far):
                    bounds[first, second] = int(way)
    return bounds


def smallest(all_gaps: Iterable[Gaps]) -> dict[tuple[int, int], int]:
    """The intersection: of every direction the smallest gap of all."""
    found: dict[tuple[int, int], int] = {}
    for gaps in all_gaps:
        for pair, gap in gaps.items():
            found[pair] = min(gap, found.get(pair, gap))
    return found


def intersection(
    ranges: Iterable[ClockRange], others: Iterable[ClockRange]
) -> tuple[ClockRange, ...]:
    """What holds if both hold; of pairs that only one of them knows, its own."""
    both = (bounds_of(found) for found in (*ranges, *others))
    # Without a margin: both have theirs already.
    return hard_ranges(smallest(both))


def hull(ranges: Iterable[ClockRange], others: Iterable[ClockRange]) -> tuple[ClockRange, ...]:
    """The smallest that contains both, of every pair."""
    found: dict[tuple[int, int], ClockRange] = {}
    for one in (*ranges, *others):
        had = found.get((one.first, one.second), one)
        low, high = min(one.low, had.low), max(one.high, had.high)
        found[one.first, one.second] = ClockRange(one.first, one.second, low, high)
    return tuple(found.values())


def bounds_of(found: ClockRange) -> Gaps:
    """The two gaps that a range stands for."""
    return {(found.first, found.second): found.high, (found.second, found.first): -found.low}
