# SPDX-License-Identifier: Apache-2.0
"""The search for a program that fails: many programs, few schedules each; then a smaller one."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from unsnarl.config import Settings
from unsnarl.execution.budget import Budget, OutOfTimeError
from unsnarl.execution.result import Result
from unsnarl.stress.generation import DrawnCalls, size_of
from unsnarl.stress.oracle import Oracle
from unsnarl.stress.program import CallProgram, Key, ProgramOutcome
from unsnarl.stress.runs import BATCH, Runs, Schedules, outcome_of
from unsnarl.stress.shrinking import smallest

# Of a program, each time it is drawn, if its first runs do not all give the same: where the order
# of the calls makes no difference, that of their parts seldom does.
BATCHES = 4
BATCHES_OF_SMALLER = 6  # of a program that is tried because a larger one fails
# Of the time that is left: what making a failing program smaller may take.
SHRINK_SHARE = 0.3


@dataclass(frozen=True)
class Wrong:
    """A program that fails, with an outcome that no serial order gives."""

    program: CallProgram
    outcome: ProgramOutcome


class _Tried:
    """What is known of one program."""

    def __init__(self, schedules: Schedules) -> None:
        self.schedules = schedules
        self.outcome: ProgramOutcome | None = None
        self.keys: set[Key] = set()


class ProgramSearch:
    """Looks for a failing program, and for the smallest one."""

    def __init__(
        self,
        calls: DrawnCalls,
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
        self._programs: dict[CallProgram, _Tried] = {}
        self._limit = wanted.time
        self._most_runs = wanted.max_runs
        # Calls of this class wait: then one outcome in all runs does not mean much.
        self._waits = False

    @property
    def tried(self) -> int:
        """How many programs were run."""
        return len(self._programs)

    @property
    def is_over(self) -> bool:
        """Whether no more runs may be made."""
        most = self._most_runs
        is_late = self._budget.spent >= self._limit
        return is_late or (most is not None and self._runs.count >= most)

    def run(self, on_program: Callable[[], None]) -> Wrong | None:
        """A failing program that could not be made smaller in the time; None if none was found."""
        number = 0
        while not self.is_over:
            draw = random.Random(f"{self._settings.seed}/{number}")
            program = self._calls.program(draw, size_of(number))
            if self._fails(program, BATCHES, is_patient=False):
                return self._shrunk(program, on_program)
            on_program()
            number += 1
        return None

    def _shrunk(self, program: CallProgram, on_program: Callable[[], None]) -> Wrong:
        left = max(0.0, self._limit - self._budget.spent)
        self._limit = self._budget.spent + left * SHRINK_SHARE
        self._most_runs = None

        def fails(candidate: CallProgram) -> bool:
            on_program()
            return self._fails(candidate, BATCHES_OF_SMALLER)

        calls = self._calls
        found = smallest(program, fails, calls.simplest, calls.simplest_make())
        outcome = self._programs[found].outcome
        assert outcome is not None
        return Wrong(found, outcome)

    def _fails(self, program: CallProgram, batches: int, *, is_patient: bool = True) -> bool:
        if program not in self._programs:
            seed = f"{self._settings.seed}/{len(self._programs)}"
            schedules = Schedules(seed, self._settings.switch, is_free=self._is_free)
            self._programs[program] = _Tried(schedules)
        tried = self._programs[program]
        try:
            while tried.outcome is None and batches and not self.is_over:
                self._try(program, tried)
                batches -= 1
                if len(tried.keys) < 2 and not is_patient and not self._waits:
                    break
        except OutOfTimeError:
            return False
        return tried.outcome is not None

    def _try(self, program: CallProgram, tried: _Tried) -> None:
        for result in self._runs.interleaved(program, tried.schedules.batch(BATCH)):
            outcome = outcome_of(result)
            self._waits = self._waits or outcome.hangs
            if self._is_wrong(program, outcome, result):
                tried.outcome = outcome
                return
            tried.keys.add(self._oracle.key(program, outcome))
            tried.schedules.learn(result)

    def _is_wrong(self, program: CallProgram, outcome: ProgramOutcome, result: Result) -> bool:
        if outcome.timed_out:
            # Perhaps only because the machine was busy: it must happen twice.
            outcome = outcome_of(self._runs.interleaved(program, [result.plan])[0])
            if not outcome.hangs:
                return False
        return self._oracle.is_wrong(program, outcome)
