# SPDX-License-Identifier: Apache-2.0
"""The search for a program that fails: many programs, few schedules each, then more of both."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.errors import NoSuchExample

from unsnarl.config import Settings
from unsnarl.execution.budget import Budget, OutOfTimeError
from unsnarl.execution.result import Result
from unsnarl.stress.generation import SIZES, Calls, programs
from unsnarl.stress.oracle import Oracle
from unsnarl.stress.program import Outcome, Program
from unsnarl.stress.runs import BATCH, Runs, Schedules, outcome_of
from unsnarl.stress.shrinking import smallest

PROGRAMS = 40  # of a round
BATCHES = 2  # of a program in the first round; one more in each later round
BATCHES_OF_SMALLER = 5  # of a program that is tried because a larger one fails
# Of the time that is left: what making a failing program smaller may take.
SHRINK_SHARE = 0.3
_SETTINGS = settings(
    max_examples=PROGRAMS,
    deadline=None,
    database=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)


@dataclass(frozen=True)
class Wrong:
    """A program that fails, with an outcome that no serial order gives."""

    program: Program
    outcome: Outcome


class _Tried:
    """What is known of one program."""

    def __init__(self, schedules: Schedules) -> None:
        self.schedules = schedules
        self.batches = 0
        self.outcome: Outcome | None = None


class Search:
    """Looks for a failing program, and for the smallest one.

    Attributes:
        tried: How many programs were run.
    """

    def __init__(
        self,
        calls: Calls,
        runs: Runs,
        oracle: Oracle,
        wanted: Settings,
        budget: Budget,
        *,
        is_free: bool,
    ) -> None:
        self._calls = calls
        self._runs = runs
        self._oracle = oracle
        self._settings = wanted
        self._budget = budget
        self._is_free = is_free
        self._programs: dict[Program, _Tried] = {}
        self._batches = BATCHES
        self._smallest: Program | None = None
        self._ends = 0.0
        self._error: Exception | None = None
        self._on_program: Callable[[], None] = lambda: None

    @property
    def tried(self) -> int:
        """How many programs were run."""
        return len(self._programs)

    @property
    def is_over(self) -> bool:
        """Whether no more runs may be made."""
        most = self._settings.max_runs
        limit = self._ends if self._smallest else self._settings.time
        return self._error is not None or self._budget.spent >= limit or (
            most is not None and self._runs.count >= most and self._smallest is None
        )

    def run(self, on_program: Callable[[], None]) -> Wrong | None:
        """A failing program that could not be made smaller in the time; None if none was found."""
        self._on_program = on_program
        number = 0
        while not self.is_over and self._smallest is None:
            draw = random.Random(f"{self._settings.seed}/{number}")
            strategy = programs(self._calls, SIZES[min(number, len(SIZES) - 1)])
            with suppress(NoSuchExample):
                find(strategy, self._fails, settings=_SETTINGS, random=draw)
            if self._error is not None:
                raise self._error
            number += 1
            self._batches += 1
        return self._shrunk() if self._smallest else None

    def _shrunk(self) -> Wrong:
        found, calls = self._smallest, self._calls
        assert found is not None
        found = smallest(found, self._fails, calls.simplest, calls.simplest_make())
        if self._error is not None:
            raise self._error
        outcome = self._programs[found].outcome
        assert outcome is not None
        return Wrong(found, outcome)

    def _fails(self, program: Program) -> bool:
        """Asked by Hypothesis, which makes those smaller that do."""
        tried = self._programs.get(program)
        if tried is None:
            if self.is_over:
                return False
            seed = f"{self._settings.seed}/{len(self._programs)}"
            tried = _Tried(Schedules(seed, self._settings.switch, is_free=self._is_free))
            self._programs[program] = tried
        most = BATCHES_OF_SMALLER if self._smallest else self._batches
        try:
            while tried.outcome is None and tried.batches < most and not self.is_over:
                self._try(program, tried)
        except OutOfTimeError:
            return False
        except Exception as error:
            # Not for Hypothesis, which would look for the smallest program that raises it.
            self._error = error
            return False
        self._on_program()
        if tried.outcome is None:
            return False
        self._note(program)
        return True

    def _try(self, program: Program, tried: _Tried) -> None:
        tried.batches += 1
        for result in self._runs.interleaved(program, tried.schedules.batch(BATCH)):
            outcome = outcome_of(result)
            if self._is_wrong(program, outcome, result):
                tried.outcome = outcome
                return
            tried.schedules.learn(result)

    def _is_wrong(self, program: Program, outcome: Outcome, result: Result) -> bool:
        if outcome.timed_out:
            # Perhaps only because the machine was busy: it must happen twice.
            outcome = outcome_of(self._runs.interleaved(program, [result.plan])[0])
            if not outcome.hangs:
                return False
        return self._oracle.is_wrong(program, outcome)

    def _note(self, program: Program) -> None:
        if self._smallest is None:
            left = max(0.0, self._settings.time - self._budget.spent)
            self._ends = self._budget.spent + left * SHRINK_SHARE
        self._smallest = program
