# SPDX-License-Identifier: Apache-2.0
"""What `evaluation.strategies` measures."""

from __future__ import annotations

import statistics

import msgspec

ROTATION = "rotation"
# Within this factor of the best single strategy, the rotation is as good.
FACTOR = 1.5

# Schedules until the first failure; None: none within the cap.
Found = int | None


class Searches(msgspec.Struct, frozen=True):
    """All searches on one bug: by strategy, one per seed."""

    bug: str
    found: dict[str, tuple[Found, ...]]

    def median(self, who: str) -> float:
        """Schedules to the first failure; infinite if half of the searches found none."""
        return statistics.median(float("inf") if n is None else n for n in self.found[who])

    @property
    def best(self) -> float:
        """The median of the best single strategy."""
        return min(self.median(who) for who in self.found if who != ROTATION)

    @property
    def is_good(self) -> bool:
        """Whether the rotation is about as good as the best single strategy."""
        return self.median(ROTATION) <= FACTOR * self.best

    @property
    def blind(self) -> int:
        """Searches by the rotation that found nothing."""
        return sum(n is None for n in self.found[ROTATION])


class Results(msgspec.Struct, frozen=True):
    """Everything that the page shows."""

    command: str
    seeds: int
    cap: int
    searches: tuple[Searches, ...]
