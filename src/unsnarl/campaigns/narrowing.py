# SPDX-License-Identifier: Apache-2.0
"""Which sites are switch points in a run: those that runs have shared, or all (docs/adr/0006).

The fewer switch points, the better the guarantees of random strategies. But a site that is shared
only on a path that no run has taken yet is none of them, and without it the path may be out of
reach: a campaign must never narrow all of its runs (docs/adr/0027).
"""

from __future__ import annotations

import random
import statistics
from collections import defaultdict, deque
from collections.abc import Iterable

# One run alone may not reach all sites.
RUNS_BEFORE_NARROWING = 3
# The share of runs that may switch anywhere, ...
WIDE_SHARE = 1 / 2
# ... and what is left of it where such runs take much longer than the others.
LEAST_WIDE_SHARE = 0.05
# What a run costs apart from its steps, in steps: to fork, to start threads, to read its file.
COST_OF_A_RUN = 2000
LATEST = 8
DEFAULT_LENGTH = 200


class Narrowing:
    """Learns from every run which sites are shared, and how many steps runs have."""

    def __init__(self) -> None:
        self._learned = 0
        self._shared: set[int] = set()
        self._sites: list[int] = []
        self._steps: dict[bool, deque[int]] = defaultdict(lambda: deque(maxlen=LATEST))

    def learn(self, shared: Iterable[int], steps: int, wide: bool) -> None:
        """Take in what a run shared; `wide`: it could switch anywhere."""
        self._learned += 1
        self._steps[wide].append(steps)
        before = len(self._shared)
        self._shared.update(shared)
        if len(self._shared) > before:
            self._sites = sorted(self._shared)

    def draw(self, draw: random.Random) -> list[int] | None:
        """The switch points of the next run; None for all sites."""
        chance = draw.random()
        narrow = self._learned >= RUNS_BEFORE_NARROWING and chance >= self.wide_share()
        return self._sites if narrow else None

    def wide_share(self) -> float:
        """The share of runs that may switch anywhere: not more of the time than the others get."""
        wide, narrow = (COST_OF_A_RUN + self.length(kind) for kind in (True, False))
        return max(LEAST_WIDE_SHARE, min(WIDE_SHARE, narrow / (narrow + wide)))

    def length(self, wide: bool) -> int:
        """How many steps a run will have, about."""
        steps = self._steps[wide] or self._steps[not wide]
        return max(1, int(statistics.median(steps))) if steps else DEFAULT_LENGTH
