# SPDX-License-Identifier: Apache-2.0
"""Where in a replay a debugger stops, and the part of the plan that makes it stop there."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

from unsnarl.errors import EXIT_INCONCLUSIVE, UnsnarlError, UsageError
from unsnarl.execution.server import Done
from unsnarl.model.event import op_of
from unsnarl.model.plan import DebugStop, Plan, as_message
from unsnarl.model.report import FindingPoint, Report
from unsnarl.probes import statuses
from unsnarl.probes.native import debugger
from unsnarl.probes.native.program import NativeProgram
from unsnarl.replay.debug_stops import ENTER, FAIL, NO_EVENTS, Stop, Stops
from unsnarl.replay.replayer import Replayer
from unsnarl.runfile import RunFile, RunFileError, SiteTable, read_run

# By step of an explanation: its points, all of one thread.
Steps = Sequence[Sequence[FindingPoint]]


def choose_stop(steps: Steps, replayer: Replayer, number: int | None) -> Stop:
    """Step `number` of the explanation; without one, the decisive access.

    That is the failing thread's last access in the explanation: what it sees there is what makes
    it fail. Without an explanation it is the thread's last event.
    """
    if number is not None and number > len(steps):
        raise UsageError(
            "no-step", f"the explanation has {len(steps)} steps, there is no step {number}"
        )
    stops = _observe(replayer)
    points = [point for step in steps for point in step]
    found = stops.of(points)
    wanted = _points_of(steps, number) if number else _decisive(points, stops.failing)
    for at in wanted:
        if at in found:
            return found[at]
    last = stops.last()
    if last is None or number is not None:
        raise UnsnarlError(
            "step-not-reached",
            f"this replay does not come to step {number}",
            "replay the run that the report names",
            EXIT_INCONCLUSIVE,
        )
    return last


def _observe(replayer: Replayer) -> Stops:
    """A replay of which every event is kept."""
    (trial,) = replayer.follow(1, trace=True)
    if trial.run is None or not replayer.fails(trial):
        raise UnsnarlError(
            "replay-differs",
            f"the run does not fail as recorded any more: {trial.signature or 'it passes'}",
            "see where it leaves the track: unsnarl replay without a debugger",
            EXIT_INCONCLUSIVE,
        )
    return Stops(trial.run, SiteTable.load(replayer.path, replayer.root), replayer.codes)


def _points_of(steps: Steps, number: int) -> list[int]:
    """The indexes of a step's points; of one that only fails, those of the steps before it.

    Of a call, those of the steps behind it: where its thread is about to do something in it.
    """
    step = steps[number - 1]
    before = sum(map(len, steps[: number - 1]))
    own = list(range(before, before + len(step)))
    if all(point.op in NO_EVENTS for point in step):
        thread = step[0].thread
        points = [point for one in steps for point in one]
        if step[0].op == ENTER:
            return [at for at in range(before, len(points)) if points[at].thread == thread]
        return [at for at in reversed(range(before)) if points[at].thread == thread]
    return own


def _decisive(points: Sequence[FindingPoint], failing: str) -> list[int]:
    """The accesses of the thread that fails, last one first; then those of the others.

    What fails may be another thread than the one that did it: whoever asks for a job's result.
    """
    roles = {point.role for point in points if point.op == FAIL or point.thread == failing}
    events = [at for at in reversed(range(len(points))) if points[at].op not in NO_EVENTS]
    return sorted(events, key=lambda at: points[at].role not in roles)


def debug_plan(stop: Stop) -> DebugStop:
    """For the plan: where to stop, and which terminal to use."""
    here = f"/proc/{os.getpid()}/fd"
    where = f"{stop.function}, {stop.file}:{stop.line}"
    title = f"thread {stop.path} is about to {op_of(stop.point).word} in {where}"
    return DebugStop(
        path=stop.path,
        points=(stop.point,),
        occurrence=stop.occurrence,
        title=f"{title}; all other threads are held",
        stdin=f"{here}/0",
        stdout=f"{here}/1",
    )


# For a C program that is to stop when nobody can go on any more.
AT_THE_DEADLOCK = DebugStop(title="no thread can go on: all are held where they wait")


def is_deadlock(report: Report, signature: str) -> bool:
    """Whether runs with a signature end because nobody can go on."""
    kinds = {failure.signature: failure.kind for failure in report.failures}
    return kinds.get(signature) == "deadlock"


def gdb_run(program: NativeProgram, kind: str) -> Callable[[Plan], Done]:
    """How to run a program under a plan in gdb, to stop at a site of a kind."""

    def run(plan: Plan) -> Done:
        file = Path(plan.file)
        debugger.run(program, as_message(plan), kind, file.parent)
        try:
            return _done(read_run(file), plan.number)
        except RunFileError:
            return Done(plan.number)  # it was left

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
    return Done(number, statuses.DEADLOCK if kind == "deadlock" else noted)
