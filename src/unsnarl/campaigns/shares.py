# SPDX-License-Identifier: Apache-2.0
"""The shares of the strategies: more runs for those whose runs fail, some for all.

Thompson sampling: a strategy is chosen with the probability that it is the best one, given what
came of its runs so far and, before there are any, what docs/strategies.md says of it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence

from unsnarl.model.plan import Strategy

# What each gets whatever came of its runs: the first failure is not always the worst, and where RFF
# and SURW never find anything (pbzip2 in C), POS and PCT do at once.
FLOORS: Mapping[Strategy, float] = {"rff": 0.08, "pos": 0.08, "pct": 0.08}
FLOOR_OF_OTHERS = 0.05
# Before anything is known of a program: so many of so many runs failed.
EXPECTED: Mapping[Strategy, int] = {"rff": 6, "pos": 3}
EXPECTED_OF_OTHERS, EXPECTED_RUNS = 1, 20


def floor(strategy: Strategy) -> float:
    """The share of the runs that it has in any case."""
    return FLOORS.get(strategy, FLOOR_OF_OTHERS)


class Shares:
    """Counts what came of the runs of each strategy, and draws the next."""

    def __init__(self) -> None:
        self._runs: Counter[str] = Counter()
        self._failing: Counter[str] = Counter()

    def count(self, strategy: str, failed: bool) -> None:
        """Take in one finished run."""
        self._runs[strategy] += 1
        self._failing[strategy] += failed

    def draw(
        self, draw: random.Random, strategies: Sequence[Strategy], passing: bool = False
    ) -> Strategy:
        """The strategy of the next run; `passing`: what is wanted now are passing runs."""
        floors = [floor(strategy) for strategy in strategies]
        if draw.random() < sum(floors):
            return draw.choices(strategies, floors)[0]
        return max(strategies, key=lambda strategy: self._drawn_rate(draw, strategy, passing))

    def _drawn_rate(self, draw: random.Random, strategy: Strategy, passing: bool) -> float:
        expected = EXPECTED.get(strategy, EXPECTED_OF_OTHERS)
        failing = expected + self._failing[strategy]
        others = EXPECTED_RUNS - expected + self._runs[strategy] - self._failing[strategy]
        return draw.betavariate(others, failing) if passing else draw.betavariate(failing, others)
