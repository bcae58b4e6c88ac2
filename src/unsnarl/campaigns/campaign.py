# SPDX-License-Identifier: Apache-2.0
"""One campaign: run the target until the wanted failing and passing runs are in hand."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from unsnarl.campaigns.engine import Done, Engine
from unsnarl.campaigns.judging import Judge
from unsnarl.campaigns.labels import Verdict
from unsnarl.campaigns.profile import profile_of
from unsnarl.campaigns.rotation import PROFILES, Rotation
from unsnarl.campaigns.store import DISK_ERRORS, Store
from unsnarl.campaigns.tally import HUNT, SUPPORT, Tally
from unsnarl.campaigns.target import Target
from unsnarl.config import Settings
from unsnarl.errors import ToolError, UsageError
from unsnarl.model.run import RunRecord, Switch
from unsnarl.runfile import RunFile, RunFileError, read_run

Stop = Literal["enough", "max-runs", "time", "always-fails", "always-hangs"]

GIL_RUNS_FIRST = 20
SUPPORT_RUNS = 200
SUPPORT_SECONDS = 15.0
RUNS_WITHOUT_A_PASS = 40
RUNS_TO_SEE_A_THREAD = 3
RUNS_WITHOUT_A_FILE = 5
PROFILED_AT_FIRST = 20
PROFILE_EVERY = 10


class Campaign:
    """Drives an engine, labels what comes back and stores it."""

    def __init__(
        self,
        store: Store,
        target: Target,
        settings: Settings,
        progress: Callable[[Tally], None] = lambda tally: None,
    ) -> None:
        self.store = store
        self.target = target
        self.settings = settings
        self.tally = Tally(settings.fail, settings.passed, settings.seed)
        self.damaged: list[str] = []
        self._progress = progress
        self._judge = Judge(target.root, store.folder / "codes.json", settings.fail_if)
        self._rotation = Rotation(settings.seed)
        self._plans: dict[int, dict[str, Any]] = {}
        self._next = 1
        self._submitted = 0
        self._instrumented = False
        self._mode: Switch | None = None

    def resume(self) -> None:
        """Take in the runs of an earlier session."""
        self.damaged += self.store.recover()
        for stored in self.store.runs():
            record = stored.record
            self.tally.restore(record, stored.phase, stored.kept)
            self._next = record.number + 1
            self._submitted += stored.phase == HUNT
            if stored.kept and self._rotation.learned < PROFILED_AT_FIRST:
                run = self._read(record.number)
                if run is not None:
                    self._rotation.learn(profile_of(run), record.label == "pass")

    def run(self, engine: Engine) -> Stop:
        """The whole hunt: collect; where only free switching fails, ask the lock again."""
        limit = time.monotonic() + self.settings.time
        self._instrumented = self._instrumented or engine.ready.modules > 0
        stop = self.collect(engine, limit)
        found = self.tally.best("free")[0]
        if self.settings.switch != "auto" or self.switch != "free" or not found:
            return stop
        limit += self.support(engine, found)
        if self.tally.latent(found):
            return stop
        # The lock does not prevent it after all: a user of this interpreter wants those runs.
        self._mode = "gil"
        again = self.collect(engine, limit)
        if self.tally.basis(found) == "gil":
            return again
        self._mode = "free"
        return stop

    def collect(self, engine: Engine, limit: float) -> Stop:
        """Run until enough is known, a limit is hit or there is nothing to find."""
        stop = self._stop(limit)
        while stop is None:
            while engine.vacant > 0 and self._submitted < self.settings.max_runs:
                self._submit(engine, self.switch, HUNT)
            if not self._plans:
                return "max-runs"
            self._take(engine, min(0.5, limit - time.monotonic()), HUNT)
            stop = self._stop(limit)
        if stop == "time" and not self.tally.total:
            # Not one run in the given time: the first says at least whether it hangs.
            self._take(engine, self.settings.timeout + 3, HUNT)
        self._plans.clear()
        return stop

    def support(self, engine: Engine, signature: str) -> float:
        """Runs under the lock behind the claim that it prevents a failure; gives the seconds taken.

        They end with the first that refutes the claim. A failure of 3 % takes a hundred runs to
        show, so the first few gil runs alone would prove little.
        """
        start = time.monotonic()
        limit = start + min(SUPPORT_SECONDS, self.settings.time / 2)
        left = SUPPORT_RUNS - self.tally.support.total()
        while time.monotonic() < limit and (left > 0 or self._plans):
            while engine.vacant > 0 and left > 0:
                self._submit(engine, "gil", SUPPORT)
                left -= 1
            self._take(engine, 0.5, SUPPORT)
            if not self.tally.latent(signature):
                break
        self._plans.clear()
        return time.monotonic() - start

    def _take(self, engine: Engine, seconds: float, phase: str) -> None:
        """Store the runs that ended; those of an earlier phase were given up."""
        for done in engine.wait(seconds):
            if done.number in self._plans:
                self._finish(done, phase)

    @property
    def switch(self) -> Switch:
        """The mode of the next run: `auto` is gil first, then both in turn until one fails."""
        wanted = self.settings.switch
        if wanted != "auto":
            return wanted
        if self._mode is not None:
            return self._mode
        if self.tally.first_failing is not None:
            return self.tally.first_failing.switch
        return "gil" if self._submitted < GIL_RUNS_FIRST or self._submitted % 2 else "free"

    def _submit(self, engine: Engine, switch: Switch, phase: str) -> None:
        number, self._next = self._next, self._next + 1
        self._submitted += phase == HUNT
        plan = self._rotation.plan(number) | {
            "switch": switch,
            "timeout": self.settings.timeout,
            "file": str(self.store.run_file(number)),
            "output": str(self.store.output_file(number)),
            "schedule": None,
            "capture": None,
            "trace": False,
            "window_size": self.settings.window,
            "granularity": self.settings.granularity,
        }
        self._plans[number] = plan
        engine.submit(plan)

    def _finish(self, done: Done, phase: str) -> None:
        plan = self._plans.pop(done.number)
        run = self._read(done.number)
        verdict = self._verdict(done, run)
        record = RunRecord(
            number=done.number,
            label=verdict.label,
            signature=verdict.signature,
            strategy=plan["strategy"],
            seed=plan["seed"],
            switch=plan["switch"],
            status=done.status,
            signal=done.signal,
            seconds=done.seconds,
            threads_seen=len(run.threads) if run else 0,
            threads_controlled=sum(t.controlled for t in run.threads) if run else 0,
            failure=verdict.failure,
        )
        self.tally.count(record, phase)
        kept, gone = False, None
        if run is not None and phase == HUNT:
            self._instrumented = self._instrumented or bool(run.codes)
            self.tally.count_losses(run)
            kept, gone = self.tally.keep(record)
            self._learn(run, record)
        self.store.add(record, phase, kept)
        if gone is not None:
            self.store.forget(gone)
        self._progress(self.tally)

    def _read(self, number: int) -> RunFile | None:
        path = self.store.run_file(number)
        if not path.exists():
            return None
        try:
            run = read_run(path)
            _ = run.notes
            return run
        except RunFileError as error:
            self.damaged.append(str(error))
            return None

    def _verdict(self, done: Done, run: RunFile | None) -> Verdict:
        verdict = self._judge.verdict(done, run, self.store.output_file(done.number))
        if (run is None and not done.timed_out) or _names_the_disk(verdict):
            self.store.check_room()
        return verdict

    def _learn(self, run: RunFile, record: RunRecord) -> None:
        often = self._rotation.learned < PROFILED_AT_FIRST or record.number % PROFILE_EVERY == 0
        if often or (record.label == "pass" and self.tally.labels["pass"] <= PROFILES):
            self._rotation.learn(profile_of(run), record.label == "pass")

    def _stop(self, limit: float) -> Stop | None:
        tally = self.tally
        self._give_up_early()
        if tally.enough(self.switch):
            return "enough"
        hopeless = tally.runs[self.switch] >= RUNS_WITHOUT_A_PASS
        if hopeless and not tally.passing[self.switch]:
            return "always-hangs" if tally.labels["hang"] == tally.total else "always-fails"
        if tally.total >= self.settings.max_runs:
            return "max-runs"
        if time.monotonic() >= limit:
            return "always-hangs" if 0 < tally.total == tally.labels["hang"] else "time"
        return None

    def _give_up_early(self) -> None:
        """Stop a hunt that cannot say anything about threads."""
        tally = self.tally
        if tally.total >= RUNS_WITHOUT_A_FILE and tally.without_file == tally.total:
            self._no_run_files()
        if tally.total < RUNS_TO_SEE_A_THREAD:
            return
        if not self._instrumented:
            raise nothing_instrumented(self.target.root)
        if tally.alone < tally.total:
            return
        sure = not tally.labels["pass"] or tally.total >= RUNS_WITHOUT_A_PASS
        if tally.first_failing is not None and sure:
            self._fails_early(tally.first_failing)
        if tally.first_failing is None:
            raise ToolError(
                "no-threads",
                f"the target started no thread in {tally.total} runs, and none failed: "
                "this cannot be a bug of threads",
                "name a command that runs the threads; processes and asyncio are not covered",
            )

    def _fails_early(self, record: RunRecord) -> None:
        failure = record.failure
        text = failure.text.strip() if failure else ""
        shown = text or self._output_tail(record.number) or record.signature
        raise UsageError(
            "fails-early",
            f"the target fails before it starts a thread ({record.signature})\n{shown}",
            "make the command pass by itself first",
        )

    def _no_run_files(self) -> None:
        if self.tally.labels["hang"]:
            return
        if self.damaged:
            raise ToolError("damaged-run-file", f"no run file can be read: {self.damaged[0]}")
        first = self.tally.first
        raise ToolError(
            "no-run-files",
            f"no run left a run file ({first.signature or 'exit status 0' if first else ''})",
            "does the target end its process itself, with os._exit or exec?",
        )

    def _output_tail(self, number: int) -> str:
        try:
            data = self.store.output_file(number).read_bytes()
        except OSError:
            return ""
        return data[-4000:].decode("utf-8", "replace").strip()


def nothing_instrumented(root: Path) -> ToolError:
    """The error where no code of the project was found."""
    return ToolError(
        "nothing-instrumented",
        f"no module under {root} was instrumented",
        "start from the project's directory, or name the package with --include",
    )


def _names_the_disk(verdict: Verdict) -> bool:
    """Whether the target failed because its output could not be written."""
    failure = verdict.failure
    return failure is not None and failure.message.startswith(DISK_ERRORS)
