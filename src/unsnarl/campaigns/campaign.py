# SPDX-License-Identifier: Apache-2.0
"""One campaign: run the target until the wanted failing and passing runs are in hand."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

from unsnarl.campaigns.lessons import MOST_AHEAD, InOrder, Lesson, Lessons
from unsnarl.campaigns.neighbours import Neighbours
from unsnarl.campaigns.profile import profile_of
from unsnarl.campaigns.rotation import Rotation
from unsnarl.campaigns.shards import COMMON_RUNS, WHOLE, Shard
from unsnarl.campaigns.store import Store
from unsnarl.campaigns.tally import HUNT, RUNS_WITHOUT_A_PASS, SUPPORT, Tally
from unsnarl.config import CONTROLLED, Settings
from unsnarl.errors import ToolError, UsageError
from unsnarl.execution.disk import is_full
from unsnarl.execution.result import Result, read_safely
from unsnarl.execution.runner import Runner
from unsnarl.execution.signatures import of_caught
from unsnarl.execution.target import Target
from unsnarl.model.access_trace import options_of
from unsnarl.model.plan import Plan
from unsnarl.model.run import RunRecord, Switch
from unsnarl.model.schedule import Schedule
from unsnarl.runfile import RunFile, RunFileError
from unsnarl.traces.files import gather

Stop = Literal["enough", "max-runs", "time", "always-fails", "always-hangs", "interrupted"]

# Under the lock first: a failure there is one that users of this interpreter meet.
GIL_RUNS_FIRST = 20
# 200 runs without a failure bound its rate below 1.5 % (rule of three).
SUPPORT_RUNS = 200
SUPPORT_SECONDS = 15.0
LEAST_SUPPORT_SECONDS = 1.0  # though the time is over
# If none has passed by then, the next few let every thread run on: does it fail even so?
RUNS_BEFORE_SERIAL_ONES, SERIAL_RUNS = 10, 5
RUNS_TO_SEE_A_THREAD = 3
RUNS_WITHOUT_A_FILE = 5
# Where experiments follow, which decide anew: after so many runs, so many of each kind will do
# (docs/adr/0037).
RUNS_FOR_FEWER, FEWER = 100, 15
_NOTHING: Schedule = ()


def mode_without_failure(runs: int) -> Switch:
    """The mode of the run after so many that did not fail, where both may be tried."""
    return "gil" if runs < GIL_RUNS_FIRST or runs % 2 else "free"


class Campaign:
    """Submits plans to a runner, counts the results and stores them."""

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
        self.tally, taught = (
            Tally(settings.fail, settings.passed, settings.seed) for _ in range(2)
        )
        self.damaged: list[str] = []
        self.serial_failures = 0
        self._progress = progress
        # Plans that depend on each other would be the limit of a large cluster.
        shard = settings.shard or (WHOLE if settings.cluster else "")
        self._shard = Shard.parse(shard) if shard else None
        teachers = COMMON_RUNS if self._shard else sys.maxsize
        seed = settings.seed
        rotation = Rotation(seed, teachers=teachers)
        self._lessons = Lessons(taught, rotation, Neighbours(seed), teachers)
        self._order = InOrder(teachers)
        self._most_runs = settings.max_runs or sys.maxsize
        self._last, self._next = 0, 1
        self._planned = 0
        self._instrumented = False
        self._mode: Switch | None = None
        self._proves = False
        self._failed_at: float | None = None

    def lead(self, sites: list[int]) -> None:
        """Where to look first."""
        self._lessons.rotation.lead(sites)

    def resume(self) -> None:
        """Take in the runs of an earlier session."""
        # First of all: the numbers of runs that a kill cut off are given out anew.
        self.damaged += self.store.recover()
        for stored in self.store.runs():
            record = stored.record
            self.tally.restore(record, stored.phase, stored.kept)
            self._last = record.number
            self._next = self._after(self._last)
            self._planned += stored.phase == HUNT
            profile, schedule = None, _NOTHING
            if stored.kept:
                run, damage = read_safely(self.store.run_file(record.number))
                self.damaged += [damage] if damage else []
                if run is not None:
                    profile, schedule = profile_of(run), _schedule(record, run)
                    if stored.phase == HUNT:
                        self._note_caught(record, run)
            self._lessons.add(Lesson(record, stored.phase, profile=profile, schedule=schedule))

    def run(self, runner: Runner, *, proves: bool = False, begun: float | None = None) -> Stop:
        """The whole hunt: collect; if only free switching fails, try under the lock once more.

        If experiments follow (`proves`), half of the time after the first failure is left to them.
        The user's time runs since it was `begun`, or from now on.
        """
        limit = (time.monotonic() if begun is None else begun) + self.settings.time
        self._proves = proves
        self._instrumented = self._instrumented or runner.ready.modules > 0
        stop = self.collect(runner, limit)
        found = self.tally.best("free")[0]
        if self.is_part or self.is_free:
            return stop
        if self.settings.switch != "auto" or self.switch != "free" or not found:
            return stop
        self.support(runner, found, limit)
        if self.tally.latent(found):
            return stop
        # The lock does not prevent it after all: a user of this interpreter wants those runs.
        self._mode = "gil"
        under_lock = self.collect(runner, limit)
        if self.tally.basis(found) == "gil":
            return under_lock
        self._mode = "free"
        return stop

    def collect(self, runner: Runner, limit: float) -> Stop:
        """Run until enough is known, a limit is hit or there is nothing to find."""
        stop = self._stop(limit)
        while stop is None:
            while self._may_submit(runner) and self._has_more:
                self._submit(runner, HUNT)
            if not runner.awaited:
                return "max-runs"
            stop = self._stop_after(runner, limit)
        if stop == "time" and not self.tally.total:
            # Not one run in the given time: the first says at least whether it hangs.
            list(self._taken(runner, self.settings.timeout + 3, HUNT))
        self._drop(runner)
        return stop

    def _stop_after(self, runner: Runner, limit: float) -> Stop | None:
        """Whether to stop after the next runs, with the first that is reason to."""
        for _ in self._taken(runner, min(0.5, limit - time.monotonic()), HUNT):
            stop = self._stop(limit)
            if stop is not None:
                return stop
        return self._stop(limit)

    def support(self, runner: Runner, signature: str, end: float) -> None:
        """Runs under the lock behind the claim that it prevents a failure.

        They end with the first that refutes the claim, or with the hunt's time (`end`). A failure
        of 3 % takes a hundred runs to show, so the first few gil runs alone would prove little.
        """
        start = time.monotonic()
        usual = start + min(SUPPORT_SECONDS, self.settings.answer / 4)
        limit = min(usual, max(end, start + LEAST_SUPPORT_SECONDS))
        left = SUPPORT_RUNS - self.tally.support.total()
        refuted = False
        while not refuted and time.monotonic() < limit and (left > 0 or runner.awaited):
            while self._may_submit(runner) and left > 0:
                self._submit(runner, SUPPORT)
                left -= 1
            for _ in self._taken(runner, 0.5, SUPPORT):
                refuted = not self.tally.latent(signature)
                if refuted:
                    break
        self._drop(runner)

    def _taken(self, runner: Runner, seconds: float, phase: str) -> Iterator[Result]:
        """Store the runs that ended, by their numbers; those of an earlier phase were dropped."""
        for result in self._order.take(runner.wait(seconds)):
            self._finish(result, phase)
            yield result

    def _drop(self, runner: Runner) -> None:
        """Do without the runs in flight; what follows is the same, however many they are."""
        runner.drop()
        self._order.drop()
        self._next = self._after(self._last + MOST_AHEAD)
        self._planned = self.tally.total

    def _after(self, number: int) -> int:
        """The number of the next run."""
        return self._shard.next(number) if self._shard else number + 1

    @property
    def is_part(self) -> bool:
        """Whether these are the runs of one shard; claims are made once all are together."""
        return bool(self.settings.shard) and not self.store.description.shards

    @property
    def is_free(self) -> bool:
        """Whether threads run in real parallel, where no schedule repeats a run."""
        return self.settings.plan != CONTROLLED

    @property
    def _has_more(self) -> bool:
        """Of a hunt in shards the runs are counted by their numbers, wherever they are made."""
        planned = self._next - 1 if self.is_part else self._planned
        return planned < self._most_runs

    @property
    def seconds_since_failure(self) -> float:
        """How long ago the first run of this session failed; 0 if none did."""
        return 0.0 if self._failed_at is None else time.monotonic() - self._failed_at

    @property
    def switch(self) -> Switch:
        """The mode of the runs that count, after those that were made."""
        return self._mode_after(self.tally, self.tally.total)

    def _mode_after(self, tally: Tally, runs: int) -> Switch:
        """The mode of the next run: `auto` is gil first, then both in turn until one fails."""
        wanted = self.settings.switch
        if wanted != "auto":
            return wanted
        if self.is_free:
            return "gil"
        if self._mode is not None:
            return self._mode
        if tally.first_failing is not None:
            return tally.first_failing.switch
        return mode_without_failure(runs)

    def _may_submit(self, runner: Runner) -> bool:
        return runner.vacant > 0 and self._order.may_plan(self._next)

    def _submit(self, runner: Runner, phase: str) -> None:
        number, self._next = self._next, self._after(self._next)
        self._lessons.teach(number)
        hunts = phase == HUNT
        before = self._planned if self._shard is None else number - 1
        switch = self._mode_after(self._lessons.tally, before) if hunts else "gil"
        plan = self._plan(number, self._fields(number, switch, runner), hunts)
        self._planned += hunts
        self._order.submitted(number)
        runner.submit(plan)

    def _plan(self, number: int, fields: dict[str, Any], hunts: bool) -> Plan:
        tally, rotation = self._lessons.tally, self._lessons.rotation
        if self.settings.plan != CONTROLLED:
            seed = random.Random(f"{self.settings.seed}/{number}").getrandbits(32)
            # Without them patterns are as coarse as Falcon's own, and two cells have no cycles.
            fields |= {"all_reads": True}
            return Plan(number=number, strategy=self.settings.plan, seed=seed, **fields)
        if hunts and self._wants_serial():
            return rotation.serial_plan(number, **fields)
        want_passing = tally.best(fields["switch"])[1] >= tally.want_fail
        if hunts and not want_passing and (near := self._lessons.neighbours.plan(number, **fields)):
            return near
        return rotation.plan(number, want_passing=want_passing, **fields)

    def _wants_serial(self) -> bool:
        after = self._planned - RUNS_BEFORE_SERIAL_ONES
        return 0 <= after < SERIAL_RUNS and not self._lessons.tally.labels["pass"]

    def _fields(self, number: int, switch: Switch, runner: Runner) -> dict[str, Any]:
        tally = self.tally if self._shard else self._lessons.tally
        return {
            "switch": switch,
            "timeout": runner.pace.for_hunt(self.settings.timeout),
            "file": str(self.store.run_file(number)),
            "output": str(self.store.output_file(number)),
            "window_size": self.settings.window,
            "granularity": self.settings.granularity,
            "anti_edges": self.settings.anti_edges,
            "own_reads": self.settings.own_reads,
            "accesses": self.settings.accesses,
            # The text of one failure will do: for pytest it takes four times a passing run.
            "brief": tally.first_failing is not None and not runner.reads_output,
        }

    def _finish(self, result: Result, phase: str) -> None:
        run = result.run
        self._check_room(result)
        self.damaged += [result.damage] if result.damage else []
        record = result.record(result.plan.number)
        self._last = record.number
        self.tally.count(record, phase)
        if record.label != "pass" and self._failed_at is None:
            self._failed_at = time.monotonic()
        self.serial_failures += record.strategy == "serial" and record.label != "pass"
        kept, gone, profile, schedule = False, None, None, _NOTHING
        if run is not None and phase == HUNT:
            self._instrumented = self._instrumented or bool(run.codes)
            self.tally.count_losses(run)
            self._note_caught(record, run)
            kept, gone = self.tally.keep(record)
            profile, schedule = profile_of(run), _schedule(record, run)
        if kept and result.plan.accesses:
            self._keep_accesses(result)
        wide = result.plan.sites is None
        self._lessons.add(Lesson(record, phase, profile, wide, schedule))
        # The new run is stored before the old one goes: a kill in between leaves one too many.
        self.store.add(record, phase, kept)
        if gone is not None:
            self.store.forget(gone)
        self._progress(self.tally)

    def _keep_accesses(self, result: Result) -> None:
        """What is lost of a trace costs the trace only."""
        path, run = self.store.run_file(result.plan.number), result.run
        try:
            dropped = run.counters["trace_dropped"] if run is not None else 0
            gather(path, options_of(result.plan), dropped)
        except RunFileError as error:
            self.damaged.append(str(error))

    def _note_caught(self, record: RunRecord, run: RunFile) -> None:
        root = self.target.root
        exceptions = dict.fromkeys(of_caught(one, root) for one in run.caught if not one.call)
        self.tally.note_caught(record, tuple(exceptions))

    def _check_room(self, result: Result) -> None:
        """Stop if the disk is full, where a run left no file or failed to write its output.

        The file system is asked: a target may meet a full disk of its own.
        """
        lost = result.run is None and not result.done.timed_out
        failure = result.failure
        if lost or (failure is not None and is_full(failure.errno)):
            self.store.check_room()

    def _stop(self, limit: float) -> Stop | None:
        tally = self.tally
        self._give_up_early()
        if tally.enough(self.switch, FEWER if self._fewer_will_do else sys.maxsize):
            return "enough"
        hopeless = tally.runs[self.switch] >= RUNS_WITHOUT_A_PASS
        # Nothing can be ranked without a passing run of the same mode.
        if hopeless and not tally.passing[self.switch]:
            return "always-hangs" if tally.labels["hang"] == tally.total else "always-fails"
        if tally.total >= self._most_runs:
            return "max-runs"
        if time.monotonic() >= self._end(limit):
            return "always-hangs" if 0 < tally.total == tally.labels["hang"] else "time"
        return None

    @property
    def _fewer_will_do(self) -> bool:
        """Not if somebody asked for more runs than usual."""
        settings = self.settings
        more = settings.fail > Settings.fail or settings.passed > Settings.passed
        return self._proves and not more and self.tally.total >= RUNS_FOR_FEWER

    def _end(self, limit: float) -> float:
        """When to stop hunting; earlier once something has failed, if it is to be proved."""
        if not self._proves or self._failed_at is None:
            return limit
        first = self._failed_at
        return first + min(limit - first, self.settings.answer) / 2

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


def _schedule(record: RunRecord, run: RunFile) -> Schedule:
    """What a run near one that failed follows."""
    return run.schedule if record.label == "fail" else _NOTHING


def nothing_instrumented(root: Path) -> ToolError:
    """The error where no code of the project was found."""
    return ToolError(
        "nothing-instrumented",
        f"no module under {root} was instrumented",
        "start from the project's directory, or name the package with --include",
    )
