# SPDX-License-Identifier: Apache-2.0
"""At which moment of a replay a debugger stops, and what the run is told of it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from unsnarl.campaigns.engine import Done
from unsnarl.campaigns.labels import STATUS_DEADLOCK
from unsnarl.errors import EXIT_INCONCLUSIVE, UnsnarlError, UsageError
from unsnarl.model.finding import FindingPoint, Report
from unsnarl.model.site import Op
from unsnarl.probes.native import debugger
from unsnarl.probes.native.program import Native
from unsnarl.reports.steps import Step, brief_steps
from unsnarl.reproduce.moments import FAIL, Moment, Moments
from unsnarl.reproduce.replay import Replayer
from unsnarl.runfile import RunFile, RunFileError, SiteTable, read_run


def choose_moment(report: Report, replayer: Replayer, number: int | None) -> Moment:
    """Step `number` of the explanation; without one, the decisive access.

    That is the failing thread's last access in the explanation: what it sees there is what makes
    it fail. Without an explanation it is the thread's last event.
    """
    steps = _explanation(report, replayer.schedule.signature)
    if number is not None and number > len(steps):
        raise UsageError(
            "no-step", f"the explanation has {len(steps)} steps, there is no step {number}"
        )
    moments = _observe(replayer)
    points = [point for step in steps for point in step.points]
    found = moments.of(points)
    wanted = _points_of(steps, number) if number else _decisive(points, moments.failing)
    for at in wanted:
        if at in found:
            return found[at]
    last = moments.last()
    if last is None or number is not None:
        raise UnsnarlError(
            "step-not-reached",
            f"this replay does not come to step {number}",
            "replay the run that the report names",
            EXIT_INCONCLUSIVE,
        )
    return last


def _explanation(report: Report, signature: str) -> list[Step]:
    for failure in report.failures:
        if failure.signature == signature and failure.findings:
            return brief_steps(failure.findings[0])
    return []


def _observe(replayer: Replayer) -> Moments:
    """A replay of which every event is kept."""
    (trial,) = replayer.follow(1, trace=True)
    if trial.run is None or not replayer.fails(trial):
        raise UnsnarlError(
            "replay-differs",
            f"the run does not fail as recorded any more: {trial.signature or 'it passes'}",
            "see where it leaves the track: unsnarl replay without a debugger",
            EXIT_INCONCLUSIVE,
        )
    return Moments(trial.run, SiteTable.load(replayer.path, replayer.root), replayer.codes)


def _points_of(steps: Sequence[Step], number: int) -> list[int]:
    """The indexes of a step's points; of one that only fails, those of the steps before it."""
    before = sum(len(step.points) for step in steps[: number - 1])
    own = list(range(before, before + len(steps[number - 1].points)))
    if all(point.op == FAIL for point in steps[number - 1].points):
        thread = steps[number - 1].thread
        points = [point for step in steps for point in step.points]
        return [at for at in reversed(range(before)) if points[at].thread == thread]
    return own


def _decisive(points: Sequence[FindingPoint], failing: str) -> list[int]:
    """The accesses of the thread that fails, last one first; then those of the others.

    What fails may be another thread than the one that did it: whoever asks for a job's result.
    """
    roles = {point.role for point in points if point.op == FAIL or point.thread == failing}
    places = [at for at in reversed(range(len(points))) if points[at].op != FAIL]
    return sorted(places, key=lambda at: points[at].role not in roles)


def debug_plan(moment: Moment) -> dict[str, Any]:
    """What the run is told: where to stop, and which terminal to talk to."""
    here = f"/proc/{os.getpid()}/fd"
    where = f"{moment.function}, {moment.file}:{moment.line}"
    title = f"thread {moment.path} is about to {Op(moment.point & 15).word} in {where}"
    return {
        "path": moment.path,
        "points": [moment.point],
        "occurrence": moment.occurrence,
        "title": f"{title}; all other threads are held",
        "stdin": f"{here}/0",
        "stdout": f"{here}/1",
    }


# What a C program is told that is to stop when nobody can go on any more.
AT_THE_DEADLOCK = {"title": "no thread can go on: all are held where they wait"}


def is_deadlock(report: Report, signature: str) -> bool:
    """Whether runs with a signature end because nobody can go on."""
    kinds = {failure.signature: failure.kind for failure in report.failures}
    return kinds.get(signature) == "deadlock"


def gdb_run(program: Native, kind: str) -> Callable[[dict[str, Any]], Done]:
    """How to run a program under a plan in gdb, to stop at a site of a kind."""

    def run(plan: dict[str, Any]) -> Done:
        file = Path(plan["file"])
        debugger.run(program, plan, kind, file.parent)
        try:
            return _done(read_run(file), plan["number"])
        except RunFileError:
            return Done(plan["number"])  # it was left

    return run


def _done(run: RunFile, number: int) -> Done:
    """How a run ended that was a debugger's child, from what it noted itself."""
    failure = run.failures[0] if run.failures else None
    kind = failure.kind if failure is not None else ""
    if failure is not None and kind in ("signal", "assertion"):
        name = failure.type if kind == "signal" else "SIGABRT"
        struck = signal.Signals[name] if name in signal.Signals.__members__ else signal.SIGKILL
        return Done(number, 128 + struck, struck)
    noted = int(run.notes.plan.get("status", 0))
    return Done(number, STATUS_DEADLOCK if kind == "deadlock" else noted)
