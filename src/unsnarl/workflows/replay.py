# SPDX-License-Identifier: Apache-2.0
"""Replay: repeat a failing run in a new process, many times or in a debugger."""

from __future__ import annotations

import dataclasses
import math
import signal
from pathlib import Path
from typing import Literal

from unsnarl.campaigns import store as stores
from unsnarl.campaigns.store import Store
from unsnarl.errors import EXIT_FAILURE_FOUND, EXIT_INCONCLUSIVE, UnsnarlError, UsageError
from unsnarl.execution.budget import Budget
from unsnarl.execution.trials import Trial
from unsnarl.model.event import site_of
from unsnarl.model.report import FindingPoint, Notice, Report, numbered
from unsnarl.probes.native.debugger import gdb
from unsnarl.probes.native.program import NativeProgram
from unsnarl.replay import debugging
from unsnarl.replay.replayer import Replayed, Replayer, load_schedule
from unsnarl.replay.target_process import TargetProcess, find_run, start_target
from unsnarl.reports import finding_ids
from unsnarl.reports.steps import brief_steps
from unsnarl.runfile import SiteTable
from unsnarl.workflows.campaign_report import stored_report
from unsnarl.workflows.unfinished import interruption, unfinished_notices

# Nobody must hurry in a debugger.
A_DAY = 86400.0

Debugger = Literal["pdb", "gdb"]


@dataclasses.dataclass(frozen=True)
class ReplayResult:
    """What came of the replays.

    Attributes:
        text: What the first one printed of its failure, if it did.
        warnings: What the time or an interrupt cut off.
        ends_with: To be raised once the result has been shown, if somebody wanted it early.
    """

    campaign: str
    replayed: Replayed
    text: str = ""
    warnings: tuple[Notice, ...] = ()
    ends_with: UnsnarlError | None = None

    @property
    def exit_code(self) -> int:
        """1 if any run failed as recorded, else 4."""
        constrained = self.replayed.constrained
        failed = self.replayed.failed or (constrained and constrained.failed)
        return EXIT_FAILURE_FOUND if failed else EXIT_INCONCLUSIVE


def replay(run: str, times: int = 1, seconds: float = math.inf) -> ReplayResult:
    """Repeat a failing run.

    Where its schedule no longer leads to the failure, fresh runs are made under its minimised
    constraints.

    Args:
        run: Number, name or file of a run, in the newest campaign or as CAMPAIGN/RUN; or the id of
            a finding, for the run that its report shows.
        seconds: The time for all of it, plus one run.
    """
    budget = Budget(seconds)
    store, number = _open(run)
    try:
        schedule = load_schedule(store, number)
        with start_target(store, budget=budget) as process:
            replayed, trials = process.repeat(schedule, times)
        return ReplayResult(
            store.name,
            replayed,
            _text(trials[0]) if trials else "",
            tuple(unfinished_notices(budget.unfinished)),
            interruption(budget, "before all replays were made"),
        )
    finally:
        store.close()


def debug(run: str, step: int | None = None, debugger: Debugger | None = None) -> Replayed:
    """Repeat a failing run in a debugger, on this process's terminal.

    Args:
        step: Stop at this step of the first finding's explanation; else at the decisive access.
        debugger: Must be that of the program's language; None takes it.
    """
    store, number = _open(run)
    try:
        schedule = load_schedule(store, number)
        with start_target(store, A_DAY) as process:
            native = process.target.kind == "program"
            _check_debugger(debugger, native)
            replayer = process.replayer(schedule)
            report = stored_report(str(store.folder.resolve()))
            trials = (_in_gdb if native else _in_pdb)(process, replayer, report, step)
            return replayer.summary(trials)
    finally:
        store.close()


def _open(word: str) -> tuple[Store, int]:
    """The campaign and the number of a run, or of the run that shows a finding."""
    try:
        folder, number = find_run(Path.cwd(), word)
    except UsageError as error:
        campaign, _, name = word.rpartition("/")
        if error.slug != "no-run" or "-" not in name:
            raise
        folder = stores.find(Path.cwd(), campaign)
        number = _run_of(name, str(folder.resolve()), error)
    return Store.open(folder), number


def _run_of(finding: str, campaign: str, unknown: UsageError) -> int:
    chosen = finding_ids.find(finding, numbered(stored_report(campaign)))
    if chosen is None or not chosen.failure.run.isdecimal():
        raise unknown
    return int(chosen.failure.run)


def _text(trial: Trial) -> str:
    run = trial.run
    return run.failures[0].text if run is not None and run.failures else ""


def _check_debugger(debugger: Debugger | None, native: bool) -> None:
    right = "gdb" if native else "pdb"
    if debugger not in (None, right):
        language = "C" if native else "Python"
        hint = f"debug it with --{right}"
        raise UsageError("wrong-debugger", f"this is a {language} program", hint)
    if native:
        gdb()


def _steps(report: Report, replayer: Replayer) -> list[tuple[FindingPoint, ...]]:
    """The explanation of the first finding: by step, its points."""
    for failure in report.failures:
        if failure.signature == replayer.schedule.signature and failure.findings:
            return [step.points for step in brief_steps(failure.findings[0])]
    return []


def _in_pdb(
    process: TargetProcess, replayer: Replayer, report: Report, step: int | None
) -> list[Trial]:
    stop = debugging.choose_stop(_steps(report, replayer), replayer, step)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C must not end the run
    try:
        return replayer.follow(1, debug=debugging.debug_plan(stop))
    finally:
        signal.signal(signal.SIGINT, before)


def _in_gdb(
    process: TargetProcess, replayer: Replayer, report: Report, step: int | None
) -> list[Trial]:
    plan, kind = debugging.AT_THE_DEADLOCK, ""
    if step is not None or not debugging.is_deadlock(report, replayer.schedule.signature):
        stop = debugging.choose_stop(_steps(report, replayer), replayer, step)
        table = SiteTable.load(process.codes, process.target.root)
        plan, kind = debugging.debug_plan(stop), table.site(site_of(stop.point)).kind
    program = NativeProgram(list(process.target.args), process.setup)
    program.codes()
    return replayer.by_hand(debugging.gdb_run(program, kind), debug=plan)
