# SPDX-License-Identifier: Apache-2.0
"""Where the skew probably is: ReCBuLC's scheme 2, equations 4 to 9.

Two workers read their clocks when a flag is set. One of them hears of it first, so TS2 - TS1 is
d + I or d - I (I: the delay of the other), and its distribution has two spikes (figure 7). The mean
of the means of both is d (equation 7). Repeated, it has a confidence interval (equation 9).

On two cores there is no place for the thread that sets the flag; there a message plays its part:
on the way there TS2 - TS1 is d + I, on the way back d - I, and the same equations hold.

In III.B.2 the paper takes the left spike for the one where T1 was first. By its equation 4 it is
the right one (T1 first: TS1 is smaller). Equation 7 is the same either way.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Numbers = NDArray[np.int64] | NDArray[np.float64]

CONFIDENCES = (0.9, 0.95, 0.99, 0.999, 0.99999)
# Runs that an interrupt fell into (factor 3): off by more than so many times the distance of the
# spikes; of messages, which have no such measure, the share that is farthest off.
FAR = 3.0
KEPT = 0.99


class Interval(NamedTuple):
    """A confidence interval of the skew."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """High minus low."""
        return self.high - self.low


def spikes(differences: Numbers) -> tuple[float, float]:
    """The middles of figure 7's two spikes; outliers do not move them."""
    left, right = (float(value) for value in np.quantile(differences, (0.1, 0.9)))
    for _ in range(50):
        boundary = (left + right) / 2
        on_left, on_right = (
            differences[differences <= boundary],
            differences[differences > boundary],
        )
        if not len(on_right):
            return left, right
        moved = float(np.median(on_left)), float(np.median(on_right))
        if moved == (left, right):
            break
        left, right = moved
    return left, right


def split(differences: Numbers) -> tuple[Numbers, Numbers]:
    """Runs in which the first worker was first, and the others; those far off are left out."""
    left, right = spikes(differences)
    middle, reach = (left + right) / 2, FAR * max(right - left, 1.0)
    near = differences[abs(differences - middle) <= reach]
    return near[near > middle], near[near <= middle]


def skew(first_first: Numbers, second_first: Numbers) -> float:
    """Equation 7."""
    return (float(first_first.mean()) + float(second_first.mean())) / 2


def near(differences: Numbers) -> Numbers:
    """Without the runs that an interrupt fell into: messages have one spike each way."""
    off = abs(differences - np.median(differences))
    return differences[off <= np.quantile(off, KEPT)]


def samples(first_first: Numbers, second_first: Numbers, n: int, m: int) -> list[float]:
    """`m` samples of the skew, each from `n` runs in a row, spread evenly over all there are."""
    half = max(n // 2, 1)
    batches = min(len(first_first), len(second_first)) // half
    indexes = np.unique(np.linspace(0, batches - 1, min(m, batches)).astype(int)).tolist()
    return [skew(first_first[k * half :][:half], second_first[k * half :][:half]) for k in indexes]


def interval(values: Sequence[float], confidence: float) -> Interval:
    """Equations 8 and 9: Student's t, as the variance is not known."""
    if len(values) < 2:
        raise ValueError("a confidence interval needs two samples")
    reach = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    reach *= quantile(1 - (1 - confidence) / 2, len(values) - 1)
    middle = float(np.mean(values))
    return Interval(middle - reach, middle + reach)


def quantile(probability: float, freedom: int) -> float:
    """Student's t: the value that is not exceeded with this probability (0.5 or more)."""
    low, high = 0.0, 1.0
    while distribution(high, freedom) < probability:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if distribution(middle, freedom) < probability:
            low = middle
        else:
            high = middle
    return high


def distribution(t: float, freedom: int) -> float:
    """Student's t: the probability of at most `t` (0 or more), by the sums for whole freedom.

    With s = sin² and c = cos² of atan(t/√f), each term of the sum is the one before times
    c·(2k-1)/2k, or c·2k/(2k+1) for odd freedom.
    """
    angle = math.atan2(t, math.sqrt(freedom))
    sine, square = math.sin(angle), math.cos(angle) ** 2
    odd = freedom % 2
    term = math.cos(angle) if odd else 1.0
    total = 0.0
    for k in range(freedom // 2):
        total += term
        term *= square * ((2 * k + 2) / (2 * k + 3) if odd else (2 * k + 1) / (2 * k + 2))
    both = (2 / math.pi) * (angle + sine * total) if odd else sine * total
    return 0.5 + both / 2
