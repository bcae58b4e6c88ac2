# SPDX-License-Identifier: Apache-2.0
"""How long runs usually take, and from when on one has surely stopped moving.

A run that hangs would otherwise cost its whole time limit, again and again. What is cut off early
is labelled a hang like any other. In a hunt that label is evidence, so patience is larger there
than for a trial, of which there are many.
"""

from __future__ import annotations

from bisect import insort

# Runs before which nothing is said, and those of which the median is taken.
FEWEST = 5
MOST = 101
# By how much a run may be slower than the median, and what it may always take.
HUNT_FACTOR, HUNT_SECONDS = 50.0, 5.0
TRIAL_FACTOR, TRIAL_SECONDS = 20.0, 2.0


class RunPace:
    """The usual duration of the runs of one process, by those that were not cut off."""

    def __init__(self) -> None:
        self._sorted: list[float] = []

    def take(self, seconds: float) -> None:
        """One more run has ended by itself."""
        if len(self._sorted) < MOST:
            insort(self._sorted, seconds)

    @property
    def usual(self) -> float | None:
        """The median; None if too few runs have ended."""
        count = len(self._sorted)
        return self._sorted[count // 2] if count >= FEWEST else None

    def for_hunt(self, timeout: float) -> float:
        """The time limit of a run of a hunt."""
        return self._limit(timeout, HUNT_FACTOR, HUNT_SECONDS)

    def for_trial(self, timeout: float) -> float:
        """The time limit of a trial."""
        return self._limit(timeout, TRIAL_FACTOR, TRIAL_SECONDS)

    def _limit(self, timeout: float, factor: float, least: float) -> float:
        usual = self.usual
        return timeout if usual is None else min(timeout, max(least, factor * usual))
