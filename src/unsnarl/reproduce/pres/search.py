# SPDX-License-Identifier: Apache-2.0
"""Try after try along the sketch, each with what the failed ones taught (PRES; ReCBuLC IV.A).

The first try follows the times of the record. Every try that does not end as recorded gives back
its accesses; of the racing pairs that the sketch leaves open one more is turned round in each of
the next, alone and then on top of others. When there is nothing left to turn round, chance decides
what the sketch leaves open.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unsnarl.experiments.constraints import Constraint
from unsnarl.experiments.trials import STRATEGIES, Plan, Trial, Trials, replaying
from unsnarl.reproduce.methods import REPLAYS
from unsnarl.reproduce.pres.flips import Flip, flips
from unsnarl.reproduce.pres.sketch import Sketch
from unsnarl.reproduce.pres.traced import Traced
from unsnarl.reproduce.recorded import Case

# A flip on top of others is worth this much of its worth, and a pair of places that was turned
# round before, in another occurrence, this much again.
DEEPER = 0.3
AGAIN = 0.4
MOST_FLIPS = 4
MOST_OPEN = 2000  # candidates that are kept
# How far corrected times are off, usually, for the chances of flips: in ticks, or in numbers.
USUAL = {"clocks": 1000.0, "global": 0.5}


@dataclass(frozen=True, eq=False)
class Try:
    """One try and what it was told to do."""

    number: int
    flips: tuple[Constraint, ...]
    trial: Trial

    @property
    def passed(self) -> int:
        """How many events of the sketch came about."""
        return self.trial.run.counters["sketch_passed"] if self.trial.run else 0

    @property
    def diverged(self) -> int:
        """How often the sketch could not be kept."""
        return self.trial.run.counters["diverged"] if self.trial.run else 0


@dataclass(frozen=True, eq=False)
class Found:
    """What a search came to.

    Attributes:
        tries: All of them.
        reproduced: The last one, if it failed as recorded.
        replayed: How many replays of its schedule did, too.
        flaky: Tries that failed as recorded, and whose schedules do not always.
    """

    tries: Sequence[Try]
    reproduced: Try | None = None
    replayed: int = 0
    flaky: int = 0

    @property
    def farthest(self) -> int:
        """How many events of the sketch the best try followed."""
        return max((one.passed for one in self.tries), default=0)


class Search:
    """Searches for a schedule that fails as a record says."""

    def __init__(
        self,
        sketch: Sketch,
        case: Case,
        trials: Trials,
        folder: Path,
        progress: Callable[[int], None] = lambda tries: None,
    ) -> None:
        self._sketch = sketch
        self._case = case
        self._recorded = recorded = case.run
        self._trials = trials
        self._file = folder / "sketch"
        self._blur = USUAL[case.record.how.order]
        self._progress = progress
        self._open: list[tuple[float, int, tuple[Constraint, ...], Flip | None]] = []
        self._numbers = itertools.count()
        self._seen: set[frozenset[Any]] = {frozenset()}
        self._shapes: set[int] = set()
        self._turned: Counter[tuple[int, int]] = Counter()
        self._tries: list[Try] = []
        self._flaky = 0
        self._draw = random.Random(recorded.number)
        self._failing = case.failing
        sketch.write(self._file, [self._failing])

    def run(self, most: int) -> Found:
        """At most so many tries."""
        for plan, chosen in itertools.islice(self._plans(), most):
            (trial,) = self._trials.run([plan])
            done = Try(len(self._tries) + 1, chosen, trial)
            self._tries.append(done)
            self._progress(done.number)
            if self._case.is_met_by(trial) and trial.run is not None:
                replayed = self._replayed(trial)
                if replayed == REPLAYS:
                    return Found(self._tries, done, replayed, self._flaky)
                self._flaky += 1
            self._learn(done)
        return Found(self._tries, flaky=self._flaky)

    def _plans(self) -> Iterator[tuple[Plan, tuple[Constraint, ...]]]:
        """What to try next; looked up only when it is wanted, after the others were learned of."""
        yield self._plan(()), ()
        while True:
            chosen = self._next()
            if chosen:
                yield self._plan(chosen), chosen
            else:
                strategy = self._draw.choice(STRATEGIES)
                seed = self._draw.getrandbits(32)
                yield {**self._plan(()), "strategy": strategy, "draw": seed}, ()

    def _plan(self, chosen: Sequence[Constraint]) -> Plan:
        return {
            "strategy": "sketch",
            "sketch": str(self._file),
            "level": self._sketch.level,
            "seed": self._recorded.seed,
            "switch": self._recorded.switch,
            "rules": [one.rule for one in chosen],
            "trace": True,
        }

    def _next(self) -> tuple[Constraint, ...]:
        """The most promising set of flips that was not tried; () if there is none."""
        while self._open:
            negative, number, below, flip = heapq.heappop(self._open)
            if flip is None:
                return below
            # Its places may have been turned round since it was put here.
            fair = -flip.worth * AGAIN ** self._turned[flip.places] * DEEPER ** len(below)
            if fair > negative and self._open and fair > self._open[0][0]:
                heapq.heappush(self._open, (fair, number, below, flip))
                continue
            self._turned[flip.places] += 1
            return (*below, flip.constraint)
        return ()

    def _learn(self, done: Try) -> None:
        """Put what may be turned round after a try among the candidates."""
        run = done.trial.run
        if run is None or not len(run.trace) or len(done.flips) >= MOST_FLIPS:
            return
        traced = Traced(run, self._sketch)
        shape = traced.shape()
        if shape in self._shapes:
            return  # the same run in all that matters: it teaches nothing
        self._shapes.add(shape)
        for flip in flips(traced, self._failing, self._blur):
            below = _without(done.flips, flip.constraint)
            key = frozenset(one.key for one in (*below, flip.constraint))
            if key in self._seen or len(self._open) > MOST_OPEN:
                continue
            self._seen.add(key)
            worth = flip.worth * AGAIN ** self._turned[flip.places] * DEEPER ** len(below)
            heapq.heappush(self._open, (-worth, next(self._numbers), below, flip))

    def _replayed(self, trial: Trial) -> int:
        """How many of so many replays of a try's schedule, without the sketch, fail as it did."""
        run = trial.run
        if run is None:
            return 0
        plan = {**replaying(run, self._recorded.seed), "switch": self._recorded.switch}
        again = self._trials.run([plan] * REPLAYS)
        return sum(self._case.is_met_by(one) for one in again)


def _without(flips: Sequence[Constraint], new: Constraint) -> tuple[Constraint, ...]:
    """Without those that a new one replaces: its opposite, and waits for less at the same place."""
    return tuple(
        one
        for one in flips
        if one.key != (new.hold.key, new.before.key)
        and (one.before.key, one.after.key) != (new.after.key, new.before.key)
        and (one.hold.key, one.before.path) != (new.hold.key, new.before.path)
    )
