# SPDX-License-Identifier: Apache-2.0
"""Record: run a target freely, its threads truly parallel, and log what it takes to repeat it."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from unsnarl import config
from unsnarl.campaigns.campaign import nothing_instrumented
from unsnarl.campaigns.stdin import keep_stdin
from unsnarl.campaigns.store import Store
from unsnarl.errors import (
    EXIT_FAILURE_FOUND,
    EXIT_INCONCLUSIVE,
    EXIT_INTERRUPTED,
    EXIT_OK,
    UnsnarlError,
    UsageError,
)
from unsnarl.execution import target
from unsnarl.execution.runner import started
from unsnarl.model.choices import Level, Order
from unsnarl.model.record import Recorded
from unsnarl.model.report import RunCounts
from unsnarl.recording.clocks import machine, stored
from unsnarl.recording.recorder import RecordedRun, Recording
from unsnarl.runfile import SiteTable
from unsnarl.workflows.progress import OnProgress, OnWarning, ignore, tally_listener

# What must be in a program for a level, and the option of `unsnarl cc` that puts it there.
NEEDED = {
    "func": (("function",), "--functions"),
    "loop": (("function", "block"), "--loops"),
    "funcloop": (("function", "block"), "--loops"),
    "block": (("block",), "--blocks"),
}
# Ticks by which a stamp that is read without a fence may be too early: writes before it may still
# be in the write buffer. Measured where two cores fight for cache lines (late.c of the
# benchmarks): 4000 for one line, 38,000 for several.
SLACK_TICKS = 40_000


@dataclasses.dataclass(frozen=True)
class RecordOptions:
    """What is logged, and of how many runs.

    Attributes:
        level: What is logged besides locks and threads.
        order: How events of different threads are put in order.
        fenced: Fence every stamp, not only those of acquired locks.
        values: Log the values that accesses read and write.
        branches: Log which way branches go (Python).
        noise: Delay threads now and then, so that failures come sooner.
        accesses: Write down every access of every thread, in one order, and the run's graph.
        until_fail: Make up to so many runs until one fails; None for a single run.
    """

    level: Level = "func"
    order: Order = "clocks"
    fenced: bool = False
    values: bool = False
    branches: bool = False
    noise: bool = False
    accesses: bool = False
    until_fail: int | None = None


@dataclasses.dataclass(frozen=True)
class RecordResult:
    """What was recorded.

    Attributes:
        how: What the record's settings were.
        kept: The run that was kept; None if none failed.
        damaged: Runs whose logs could not be read.
        out_of_time: Whether the time ran out before all runs were made.
    """

    campaign: str
    command: tuple[str, ...]
    how: Recorded
    runs: RunCounts
    kept: RecordedRun | None
    damaged: tuple[str, ...]
    out_of_time: bool

    @property
    def exit_code(self) -> int:
        """1 if a failure was recorded, 0 if nothing failed, else 4."""
        if self.kept is not None and self.kept.record.label != "pass":
            return EXIT_FAILURE_FOUND
        if self.runs.fail or self.runs.hang or self.damaged or self.out_of_time:
            return EXIT_INCONCLUSIVE  # or something failed, and nothing of it could be kept
        return EXIT_OK


def record(
    command: tuple[str, ...],
    options: RecordOptions,
    flags: Mapping[str, Any] | None = None,
    *,
    on_progress: OnProgress = ignore,
    on_warning: OnWarning = ignore,
) -> RecordResult:
    """Record one run of a command, or runs until one fails.

    Args:
        flags: Settings by the names of `config.KEYS`, as for a hunt.
        on_progress: Called after every run.
        on_warning: Called with slug, message and hint.
    """
    return _Recorder(command, options, flags or {}, on_warning).run(on_progress)


class _Recorder:
    """One recording and its campaign."""

    def __init__(
        self,
        command: tuple[str, ...],
        options: RecordOptions,
        flags: Mapping[str, Any],
        on_warning: OnWarning,
    ) -> None:
        cwd = Path.cwd()
        self._options = options
        self._settings = config.load(config.find_root(cwd), os.environ, flags)
        self._target = target.parse(command, cwd, force_python=self._settings.force_python)
        self._how = Recorded(
            level=options.level,
            order=options.order,
            fenced=options.fenced,
            values=options.values,
            branches=options.branches,
            accesses=options.accesses,
            clocks=_clocks(on_warning),
            slack=0 if options.fenced or options.order == "global" else SLACK_TICKS,
        )
        if self._how.accesses and self._how.level != "access":
            hint = "unsnarl record --level access --all -- COMMAND"
            raise UsageError("bad-argument", "--all is for --level access", hint)
        if self._how.branches and self._target.kind == "program":
            raise UsageError("level-unavailable", "branches can be recorded in Python only")
        self._store = Store.create(
            cwd,
            command,
            cwd,
            self._target.root,
            options=dataclasses.asdict(self._settings),
            python=self._target.python.version,
        )
        stdin = keep_stdin(self._store.folder)
        self._target = dataclasses.replace(self._target, stdin=stdin)

    def run(self, on_progress: OnProgress) -> RecordResult:
        """Make the runs, keep what was asked for."""
        recording = Recording(
            self._store,
            self._target,
            self._how,
            timeout=self._settings.timeout,
            seed=self._settings.seed,
            noise=self._options.noise,
            progress=tally_listener(on_progress),
        )
        try:
            kept = self._record(recording)
        except KeyboardInterrupt:
            raise _interrupted(recording) from None
        finally:
            self._store.sweep()
            self._store.close()
        return self._result(recording, kept)

    def _record(self, recording: Recording) -> RecordedRun | None:
        settings, how = self._settings, self._how
        branches, loops = how.branches, how.loops
        # One at a time: other runs would keep the threads from truly overlapping.
        making = started(
            self._target, self._store.folder, settings, jobs=1, branches=branches, loops=loops
        )
        with making as runner:
            # Not earlier: the list of sites is there only once the target was started.
            self._check_level()
            if self._options.until_fail is None:
                kept = recording.once(runner)
            else:
                most = self._options.until_fail
                kept = recording.until_failure(runner, most, settings.time)
            if not runner.ready.modules and not recording.saw_code:
                raise nothing_instrumented(self._target.root)
            return kept

    def _check_level(self) -> None:
        """A program logs only what it was built to log."""
        kinds, option = NEEDED.get(self._how.level, ((), ""))
        if not kinds or self._target.kind != "program":
            return
        table = SiteTable.load(self._store.codes, self._target.root)
        if not all(table.of_kinds((kind,)) for kind in kinds):
            what = option.lstrip("-")
            raise UsageError(
                "level-unavailable",
                f"{self._target.args[0]} was not built to log its {what}",
                f"build it with `unsnarl cc {option}`, or with UNSNARL_CC_{what.upper()}=1 in the "
                "environment; or record with --level sync or access",
            )

    def _result(self, recording: Recording, kept: RecordedRun | None) -> RecordResult:
        labels = recording.tally.labels
        counts = (labels[name] for name in ("pass", "fail", "hang"))
        return RecordResult(
            campaign=self._store.name,
            command=self._target.command,
            how=self._how,
            runs=RunCounts(recording.tally.total, *counts),
            kept=kept,
            damaged=tuple(recording.damaged),
            out_of_time=recording.out_of_time,
        )


def _interrupted(recording: Recording) -> UnsnarlError:
    text = f"interrupted after {recording.tally.total} runs; none failed"
    return UnsnarlError("interrupted", text, "", EXIT_INTERRUPTED)


def _clocks(on_warning: OnWarning) -> dict[str, Any]:
    """What was measured since the machine was started; `unsnarl clocks` can do so later, too."""
    try:
        found = stored.load(machine.read())
    except ValueError as error:
        hint = "run `unsnarl clocks --again`"
        on_warning("clocks-damaged", f"the stored clocks cannot be read: {error}", hint)
        found = None
    return {} if found is None else msgspec.to_builtins(found)
