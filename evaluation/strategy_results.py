# SPDX-License-Identifier: Apache-2.0
"""What `evaluation.strategies` measures."""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence

import msgspec

ROTATION = "rotation"
# Within this factor of the best single strategy, the rotation is as good.
FACTOR = 1.5
# The rotation is clearly worse if so many of the resamples say so.
RESAMPLES, SURE = 400, 0.95

# Schedules until the first failure; None: none within the cap.
Found = int | None


class Searches(msgspec.Struct, frozen=True):
    """All searches on one bug: by strategy, one per seed."""

    bug: str
    found: dict[str, tuple[Found, ...]]

    @property
    def singles(self) -> tuple[str, ...]:
        """The strategies that were tried alone."""
        return tuple(who for who in self.found if who != ROTATION)

    def median(self, who: str) -> float:
        """Schedules to the first failure; infinite if half of the searches found none."""
        return _median(self.found[who])

    @property
    def best(self) -> float:
        """The median of the best single strategy."""
        return min(self.median(who) for who in self.singles)

    @property
    def is_good(self) -> bool:
        """Whether the rotation is about as good as the best single strategy."""
        return self.median(ROTATION) <= FACTOR * self.best

    @property
    def blind(self) -> int:
        """Searches by the rotation that found nothing."""
        return sum(n is None for n in self.found[ROTATION])

    def half(self, which: int) -> Searches:
        """Every second seed: the odd ones (0) or the even ones (1)."""
        return Searches(self.bug, {who: made[which::2] for who, made in self.found.items()})

    def is_best_again(self, cap: int) -> bool:
        """Whether the single strategy that was best with the odd seeds meets the bar in the even.

        What is best of several measured medians is partly lucky. So no strategy meets the bar on
        all bugs, not even that which is best.
        """
        chosen = min(self.singles, key=lambda who: expected(self.half(0).found[who], cap))
        even = self.half(1)
        return even.median(chosen) <= FACTOR * even.best

    def is_clearly_worse(self, cap: int) -> bool:
        """Whether the rotation is worse by more than the factor, and not by chance.

        By the expected schedules, which use all of what was measured; the seeds are resampled.
        """
        best = min(self.singles, key=lambda who: expected(self.found[who], cap))
        draw = random.Random(self.bug)
        worse = 0
        for _ in range(RESAMPLES):
            mine, theirs = (
                expected(draw.choices(self.found[who], k=len(self.found[who])), cap)
                for who in (ROTATION, best)
            )
            worse += mine > FACTOR * theirs
        return worse >= SURE * RESAMPLES


def expected(found: Sequence[Found], cap: int) -> float:
    """Schedules per failure: the reciprocal of the chance of a schedule to fail."""
    failures = sum(n is not None for n in found)
    schedules = sum(cap if n is None else n for n in found)
    return schedules / failures if failures else float("inf")


def _median(found: Sequence[Found]) -> float:
    return statistics.median(float("inf") if n is None else n for n in found)


class Results(msgspec.Struct, frozen=True):
    """Everything that the page shows; `every` is how many bugs there are."""

    command: str
    seeds: int
    cap: int
    searches: tuple[Searches, ...]
    every: int = 0
