# SPDX-License-Identifier: Apache-2.0
"""Reproduce: from a recorded failure to a schedule that fails every time, and to its cause."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from unsnarl import config
from unsnarl.campaigns.captures import Captures
from unsnarl.campaigns.store import Store
from unsnarl.errors import (
    EXIT_FAILURE_FOUND,
    EXIT_INCONCLUSIVE,
    EXIT_INTERRUPTED,
    UnsnarlError,
)
from unsnarl.execution.budget import Budget, OutOfTimeError
from unsnarl.experiments.prove import Prover
from unsnarl.model.constraint import Constraint
from unsnarl.model.report import Notice, Report
from unsnarl.model.run import RunRecord
from unsnarl.replay.replayer import keep_schedules
from unsnarl.replay.target_process import TargetProcess, find_run, start_target
from unsnarl.reproduce import recorded, save_runs
from unsnarl.reproduce.methods import DEFAULT, REPLAYS, Outcome, method
from unsnarl.reproduce.recorded import Case
from unsnarl.workflows import campaign_report
from unsnarl.workflows.campaign_report import Request, code_changed
from unsnarl.workflows.progress import ignore
from unsnarl.workflows.unfinished import interruption, unfinished_notices

TRIES = 100


@dataclasses.dataclass(frozen=True)
class ReproduceResult:
    """What came of it.

    Attributes:
        case: The recorded failure.
        outcome: What the method found.
        run: The run of the campaign that has the schedule found; None if none was.
        report: Its cause, if that was asked for and there was time.
        interrupted: Ctrl-C came after the schedule was found; to be raised once that is shown.
        replays: How many replays a schedule must survive.
        warnings: What the time, an interrupt or an error cut off.
    """

    campaign: str
    method: str
    case: Case
    outcome: Outcome
    run: RunRecord | None
    report: Report | None
    interrupted: UnsnarlError | None
    replays: int = REPLAYS
    warnings: tuple[Notice, ...] = ()

    @property
    def exit_code(self) -> int:
        """1 if the failure was reproduced, else 4."""
        return EXIT_INCONCLUSIVE if self.run is None else EXIT_FAILURE_FOUND


def reproduce(
    record: str,
    method: str = DEFAULT,
    tries: int = TRIES,
    *,
    seconds: float = math.inf,
    explain: bool = True,
    on_try: Callable[[int], None] = ignore,
) -> ReproduceResult:
    """Find a schedule under which the target fails as recorded, and explain it.

    Args:
        record: The recorded run: number, file or CAMPAIGN/RUN.
        tries: Give up after so many runs.
        seconds: The time for all of it, plus one run.
        explain: Also look for the cause, as a hunt does.
        on_try: Called with the number of tries made.
    """
    return Reproduction(record, method, Budget(seconds)).run(tries, explain=explain, on_try=on_try)


class Reproduction:
    """One search for a recorded failure, in its campaign."""

    def __init__(self, record: str, method: str, budget: Budget) -> None:
        self._budget = budget
        folder, number = find_run(Path.cwd(), record)
        self._method = method
        self._store = Store.open(folder)
        self._case = recorded.load(self._store, number)
        self._constraints: Mapping[int, Sequence[Constraint]] = {}

    def run(
        self, tries: int, *, explain: bool, on_try: Callable[[int], None] = ignore
    ) -> ReproduceResult:
        """Search, keep what was found, explain it."""
        store = self._store
        report: Report | None = None
        try:
            how = self._case.record.how
            probes = {"branches": how.branches, "loops": how.loops}
            with start_target(store, budget=self._budget, **probes) as process:
                # A record names sites by numbers, which are those of the same code only.
                if not process.is_unchanged:
                    raise code_changed(store.name)
                outcome, run = self._search(process, tries, on_try)
                if run is not None and explain:
                    # The schedule was found and stored: whatever happens, it must be reported.
                    explained = partial(self._explained, process, run.signature)
                    doing = "looking for the cause"
                    report = self._budget.part("confirm", doing, explained, None)
            if run is not None:
                keep_schedules(store, self._constraints)
        finally:
            store.close()
        return ReproduceResult(
            store.name,
            self._method,
            self._case,
            outcome,
            run,
            report,
            interruption(self._budget, "while looking for the cause"),
            warnings=tuple(unfinished_notices(self._budget.unfinished)),
        )

    def _search(
        self, process: TargetProcess, tries: int, on_try: Callable[[int], None]
    ) -> tuple[Outcome, RunRecord | None]:
        """What the method finds, and the run that is kept of it."""
        case, made = self._case, 0

        def count(number: int) -> None:
            nonlocal made
            made = number
            on_try(number)

        try:
            # Solving an order asks nobody for time.
            with self._budget.alarm():
                outcome = method(self._method)(case, process, tries, count)
                if outcome.trial is None:
                    return outcome, None
                run = save_runs.keep_reproduced(self._store, process, case, outcome.trial)
        except OutOfTimeError:
            self._budget.note("replay", f"looking for a schedule, {made} of {tries} tries", "time")
            return Outcome(made), None
        except KeyboardInterrupt:
            count_text = f"{made} tr{'y' if made == 1 else 'ies'}"
            raise _interrupted(f"after {count_text}; not reproduced so far") from None
        # One more replay, after all the others failed, did not: it does not always fail.
        return (outcome, run) if run is not None else (outcome.flaked(), None)

    def _explained(self, process: TargetProcess, signature: str) -> Report:
        """What a hunt would say of it: the run compared with others, and the experiments."""
        store = self._store
        save_runs.keep_compared(store, process, self._case)
        settings = config.override(store.description.options, {})
        prover = Prover(
            process.trials.runner,
            process.codes.parent,
            settings.timeout,
            findings=settings.confirm,
            budget=self._budget,
        )
        request = Request(prover=prover, signature=signature, budget=self._budget)
        figures = campaign_report.stored_figures(store, campaign_report.stored_tally(store))
        captures = Captures(store, process.trials.runner, settings.timeout)
        proven = campaign_report.make_proven_report(store, figures, captures, request)
        campaign_report.save_report(store, proven.report)
        self._constraints = proven.constraints
        return proven.report


def _interrupted(when: str) -> UnsnarlError:
    return UnsnarlError("interrupted", f"interrupted {when}", "", EXIT_INTERRUPTED)
