# SPDX-License-Identifier: Apache-2.0
"""Free runs with their logs on: what a real parallel run was, for later (ReCBuLC IV).

One run at a time, with all cores to itself: other runs would keep its threads from truly
overlapping. Each leaves a piece per thread, which becomes a part of its run file if it is kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from unsnarl.campaigns.store import Store
from unsnarl.campaigns.tally import Tally
from unsnarl.execution.result import Result
from unsnarl.execution.runner import Runner
from unsnarl.execution.target import Target
from unsnarl.model.access_trace import options_of
from unsnarl.model.plan import Plan, Strategy
from unsnarl.model.record import Recorded
from unsnarl.model.run import RunRecord, Switch
from unsnarl.runfile import RunFile, RunFileError, pieces, read_run
from unsnarl.traces.files import StoredTrace, gather

STRATEGY: Strategy = "record"
PHASE = "record"


class RecordedRun(msgspec.Struct, frozen=True):
    """A recorded run that is stored, and how much was logged."""

    record: RunRecord
    events: dict[str, int]  # by thread path
    bytes: int
    dropped: int
    replaced: str = ""  # the target's function that took over from our hook
    trace: StoredTrace | None = None  # of all its accesses
    untraced: int = 0  # ... for which there was no room


class Recording:
    """Makes the runs of one call of `unsnarl record`."""

    def __init__(
        self,
        store: Store,
        target: Target,
        how: Recorded,
        *,
        timeout: float,
        seed: int = 0,
        noise: bool = False,
        progress: Callable[[Tally], None] = lambda tally: None,
    ) -> None:
        self.tally = Tally(1, 1, seed)
        self._store = store
        self._how = how
        self._timeout = timeout
        self._seed = seed
        self._noise = noise
        # Python's threads switch where its own lock allows it, whoever delays them.
        has_lock = target.kind != "program" and not target.python.is_free_threaded
        self._switch: Switch = "gil" if has_lock else "free"
        self.damaged: list[str] = []
        self.out_of_time = False
        self.saw_code = False  # of the project, in a run that loaded it by itself
        self._progress = progress

    def once(self, runner: Runner) -> RecordedRun | None:
        """One run, kept whatever came of it."""
        return self._one(runner, 1, keeps_passing=True)

    def until_failure(self, runner: Runner, most: int, seconds: float) -> RecordedRun | None:
        """Run after run, until one fails; None if none of `most` does, or the time is over."""
        limit = time.monotonic() + seconds
        for number in range(1, most + 1):
            kept = self._one(runner, number, keeps_passing=False)
            if kept is not None:
                return kept
            # After the last run nothing was cut off, however long it took.
            if number < most and time.monotonic() >= limit:
                self.out_of_time = True
                return None
        return None

    def _one(self, runner: Runner, number: int, *, keeps_passing: bool) -> RecordedRun | None:
        (result,) = runner.run([self._plan(number)])
        self._look_at(result)
        record = result.record(number)
        wanted = keeps_passing or record.label != "pass"
        kept = self._gather(record) if wanted else None
        if kept is None:
            pieces.discard(self._store.run_file(number))
        self.tally.count(record, "hunt")
        self._store.add(record, PHASE, kept is not None)
        self._progress(self.tally)
        return kept

    def _look_at(self, result: Result) -> None:
        self.damaged += [result.damage] if result.damage else []
        self.saw_code = self.saw_code or bool(result.run and result.run.notes.codes)

    def _plan(self, number: int) -> Plan:
        how = self._how
        return Plan(
            number=number,
            seed=self._seed + number,
            strategy=STRATEGY,
            switch=self._switch,
            timeout=self._timeout,
            file=str(self._store.run_file(number)),
            output=str(self._store.output_file(number)),
            level=how.level,
            order=how.order,
            fenced=how.fenced,
            values=how.values,
            branches=how.branches,
            noise=self._noise,
            accesses=how.accesses,
        )

    def _gather(self, record: RunRecord) -> RecordedRun | None:
        """Make one file of what the run has left; None if that is nothing."""
        path = self._store.run_file(record.number)
        try:
            note = {"record": msgspec.to_builtins(self._how)}
            size = pieces.gather(path, note, whole=self._how.level != "access")
            kept = _kept(record, read_run(path), size)
        except RunFileError as error:
            self.damaged.append(str(error))
            return None
        return self._with_trace(kept, path)

    def _with_trace(self, kept: RecordedRun, path: Path) -> RecordedRun:
        """What is lost of a trace costs the trace only."""
        try:
            trace = gather(path, options_of(self._plan(kept.record.number)), kept.untraced)
        except RunFileError as error:
            self.damaged.append(str(error))
            return kept
        return msgspec.structs.replace(kept, trace=trace)


def _kept(record: RunRecord, run: RunFile, size: int) -> RecordedRun:
    logged = run.record.threads if run.record else ()
    events = {thread.path: len(thread.events) for thread in logged}
    counters = run.counters
    return RecordedRun(
        record,
        events,
        size,
        counters["log_dropped"],
        run.notes.replaced,
        untraced=counters["trace_dropped"],
    )
