# SPDX-License-Identifier: Apache-2.0
"""Try after try along the sketch, each with what the failed ones taught (PRES; ReCBuLC IV.A).

The first try follows the times of the record. Each of the next turns round what the sketch leaves
open and the tries before make likely (flip_queue.py). When there is nothing left to turn round,
chance decides what the sketch leaves open.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace as with_fields

from unsnarl.execution.trials import STRATEGIES, Trial, Trials, replaying
from unsnarl.model.constraint import Constraint
from unsnarl.model.plan import Plan
from unsnarl.reproduce.methods import REPLAYS
from unsnarl.reproduce.pres.flip_queue import FlipQueue
from unsnarl.reproduce.pres.sketch import Sketch
from unsnarl.reproduce.recorded import Case


@dataclass(frozen=True, eq=False)
class Try:
    """One try, and the flips in its plan."""

    number: int
    flips: tuple[Constraint, ...]
    trial: Trial

    @property
    def passed(self) -> int:
        """How many events of the sketch happened."""
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
        self._progress = progress
        self._queue = FlipQueue(sketch, case)
        self._tries: list[Try] = []
        self._flaky = 0
        self._draw = random.Random(recorded.number)
        sketch.write(self._file, [case.failing])

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
            self._queue.learn(trial.run, chosen)
        return Found(self._tries, flaky=self._flaky)

    def _plans(self) -> Iterator[tuple[Plan, tuple[Constraint, ...]]]:
        """What to try next; looked up only when it is wanted, after the others were learned of."""
        yield self._plan(()), ()
        while True:
            chosen = self._queue.next()
            if chosen:
                yield self._plan(chosen), chosen
            else:
                # SURW is not among them: it needs the counts of a passing run (docs/adr/0022).
                strategy = self._draw.choice(STRATEGIES)
                seed = self._draw.getrandbits(32)
                yield with_fields(self._plan(()), strategy=strategy, draw=seed), ()

    def _plan(self, chosen: Sequence[Constraint]) -> Plan:
        return Plan(
            strategy="sketch",
            sketch=str(self._file),
            level=self._sketch.level,
            seed=self._recorded.seed,
            switch=self._recorded.switch,
            rules=tuple(one.rule for one in chosen),
            trace=True,
        )

    def _replayed(self, trial: Trial) -> int:
        """How many of so many replays of a try's schedule, without the sketch, fail as it did."""
        run = trial.run
        if run is None:
            return 0
        plan = replaying(run, self._recorded.seed, switch=self._recorded.switch)
        replays = self._trials.run([plan] * REPLAYS)
        return sum(self._case.is_met_by(one) for one in replays)
