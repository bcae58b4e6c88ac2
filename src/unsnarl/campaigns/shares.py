# SPDX-License-Identifier: Apache-2.0
"""The shares of the strategies: two runs of three for the best one, the third for each in turn.

The best one is that whose runs failed most often, given what docs/strategies.md lets expect before
there are any. Nothing is drawn: where two of three runs are the best strategy's, a search is at
most half as long again as with that strategy alone, and not only on average (docs/adr/0058). Where
only passing runs are missing, strategies are drawn by how often theirs pass: runs of the one that
passes most would be compared with failing runs of another.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence

from unsnarl.model.plan import Strategy

# Before anything is known of a program: so many of so many runs failed. Few enough that a strategy
# that finds nothing gives way after some ten runs: RFF and SURW never find pbzip2 in C.
EXPECTED: Mapping[Strategy, float] = {"rff": 5, "surw": 4, "pos": 3, "walk": 3, "pct": 1}
EXPECTED_RUNS = 12
# Every so many-th run is one of those that come in turn, whatever came of their runs: the first
# failure is not always the worst, and what a program needs may be what is expected least.
TURN_EVERY = 3
TURNS: tuple[Strategy, ...] = ("surw", "pos", "walk", "pct", "rff")
SERIAL: Strategy = "serial"  # no part of the turns


class Shares:
    """Counts what came of the runs of each strategy, and names the next."""

    def __init__(self) -> None:
        self._runs: Counter[str] = Counter()
        self._failing: Counter[str] = Counter()

    def count(self, strategy: str, failed: bool) -> None:
        """Take in one finished run."""
        self._runs[strategy] += 1
        self._failing[strategy] += failed

    def next(self, number: int, strategies: Sequence[Strategy]) -> Strategy:
        """The strategy of run `number`."""
        turn, rest = divmod(number - 1, TURN_EVERY)
        if turn and not rest:
            turns = sorted(strategies, key=lambda one: (*TURNS, one).index(one))
            return turns[(turn - 1) % len(turns)]
        return max(strategies, key=self.rate)

    def passing(self, draw: random.Random, strategies: Sequence[Strategy]) -> Strategy:
        """The strategy of a run that should pass."""
        # Serial runs were made only where nothing else had passed.
        possible = [*strategies, SERIAL] if self._runs[SERIAL] else strategies
        return draw.choices(possible, [1 - self.rate(strategy) for strategy in possible])[0]

    def rate(self, strategy: Strategy) -> float:
        """The share of its runs that fail, as far as is known."""
        failing = EXPECTED.get(strategy, 1) + self._failing[strategy]
        return failing / (EXPECTED_RUNS + self._runs[strategy])
