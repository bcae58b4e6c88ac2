# SPDX-License-Identifier: Apache-2.0
"""Free runs with their logs on: what a real parallel run was, for later (ReCBuLC IV).

One run at a time, with all cores to itself: runs beside it would hinder its threads from truly
overlapping. Each leaves a piece per thread, which becomes a part of its run file if it is kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec

from unsnarl.campaigns.engine import Done, Engine
from unsnarl.campaigns.judging import Judge
from unsnarl.campaigns.store import Store
from unsnarl.campaigns.tally import Tally
from unsnarl.campaigns.target import Target
from unsnarl.errors import ToolError
from unsnarl.model.record import Recorded
from unsnarl.model.run import RunRecord, Switch
from unsnarl.runfile import RunFile, RunFileError, pieces, read_run

STRATEGY = "record"
PHASE = "record"


class Kept(msgspec.Struct, frozen=True):
    """A recorded run that is stored, and how much was logged."""

    record: RunRecord
    events: dict[str, int]  # by thread path
    bytes: int
    dropped: int
    replaced: str = ""  # the target's own function that ended the telling of functions or lines


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
        fail_if: str = "",
        progress: Callable[[Tally], None] = lambda tally: None,
    ) -> None:
        self.tally = Tally(1, 1, seed)
        self._store = store
        self._how = how
        self._timeout = timeout
        self._seed = seed
        self._noise = noise
        # Python's threads switch where its own lock allows it, whoever delays them.
        self._switch: Switch = "free" if target.kind == "program" else "gil"
        self._judge = Judge(target.root, store.folder / "codes.json", fail_if)
        self.damaged: list[str] = []
        self.out_of_time = False
        self.saw_code = False  # of the project, in a run that loaded it by itself
        self._progress = progress

    def once(self, engine: Engine) -> Kept | None:
        """One run, kept whatever came of it."""
        return self._one(engine, 1, keeps_passing=True)

    def until_failure(self, engine: Engine, most: int, seconds: float) -> Kept | None:
        """Run after run, until one fails; None if none of `most` does, or the time is over."""
        limit = time.monotonic() + seconds
        for number in range(1, most + 1):
            kept = self._one(engine, number, keeps_passing=False)
            if kept is not None:
                return kept
            if number < most and time.monotonic() >= limit:
                self.out_of_time = True
                return None
        return None

    def _one(self, engine: Engine, number: int, *, keeps_passing: bool) -> Kept | None:
        done = self._run(engine, number)
        run = self._read(number)
        record = self._record(done, run)
        wanted = keeps_passing or record.label != "pass"
        kept = self._gather(record) if wanted else None
        if kept is None:
            pieces.discard(self._store.run_file(number))
        self.tally.count(record, "hunt")
        self._store.add(record, PHASE, kept is not None)
        self._progress(self.tally)
        return kept

    def _run(self, engine: Engine, number: int) -> Done:
        engine.submit(self._plan(number))
        limit = time.monotonic() + self._timeout + 10
        while time.monotonic() < limit:
            for done in engine.wait(0.5):
                if done.number == number:
                    return done
        raise ToolError("server-failed", "the run was never answered")

    def _plan(self, number: int) -> dict[str, Any]:
        how = self._how
        return {
            "number": number,
            "seed": self._seed + number,
            "strategy": STRATEGY,
            "switch": self._switch,
            "timeout": self._timeout,
            "file": str(self._store.run_file(number)),
            "output": str(self._store.output_file(number)),
            "level": how.level,
            "order": how.order,
            "fenced": how.fenced,
            "values": how.values,
            "branches": how.branches,
            "noise": self._noise,
        }

    def _gather(self, record: RunRecord) -> Kept | None:
        """Make one file of what the run has left; None if that is nothing."""
        path = self._store.run_file(record.number)
        try:
            note = {"record": msgspec.to_builtins(self._how)}
            size = pieces.gather(path, note, whole=self._how.level != "access")
            return _kept(record, read_run(path), size)
        except RunFileError as error:
            self.damaged.append(str(error))
            return None

    def _read(self, number: int) -> RunFile | None:
        """What the process itself wrote; nothing if it was killed."""
        path = self._store.run_file(number)
        try:
            run = read_run(path) if path.exists() else None
            self.saw_code = self.saw_code or bool(run and run.notes.codes)
            return run
        except RunFileError as error:
            self.damaged.append(str(error))
            return None

    def _record(self, done: Done, run: RunFile | None) -> RunRecord:
        verdict = self._judge.verdict(done, run, self._store.output_file(done.number))
        return RunRecord(
            number=done.number,
            label=verdict.label,
            signature=verdict.signature,
            strategy=STRATEGY,
            seed=self._seed + done.number,
            switch=self._switch,
            status=done.status,
            signal=done.signal,
            seconds=done.seconds,
            threads_seen=len(run.threads) if run else 0,
            threads_controlled=0,
            failure=verdict.failure,
        )


def _kept(record: RunRecord, run: RunFile, size: int) -> Kept:
    logged = run.record.threads if run.record else ()
    events = {thread.path: len(thread.events) for thread in logged}
    return Kept(record, events, size, run.counters["log_dropped"], run.notes.replaced)
