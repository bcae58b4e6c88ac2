# SPDX-License-Identifier: Apache-2.0
"""A recording from the command line to what is printed of it."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import msgspec

from unsnarl import config
from unsnarl.campaigns import target
from unsnarl.campaigns.campaign import nothing_instrumented
from unsnarl.campaigns.engine import Engine
from unsnarl.campaigns.recording import Kept, Recording
from unsnarl.campaigns.store import Store
from unsnarl.cli.progress import showing
from unsnarl.cli.shared import hooks_replaced, write_json
from unsnarl.errors import (
    EXIT_FAILURE_FOUND,
    EXIT_INCONCLUSIVE,
    EXIT_INTERRUPTED,
    EXIT_OK,
    UnsnarlError,
    UsageError,
    warn,
)
from unsnarl.model.record import Recorded
from unsnarl.reproduce.clocks import machine, stored
from unsnarl.runfile import SiteTable

# What must be in a program for a level, and the word of `unsnarl cc` that puts it there.
NEEDED = {
    "func": (("function",), "--functions"),
    "loop": (("function", "block"), "--loops"),
    "funcloop": (("function", "block"), "--loops"),
    "block": (("block",), "--blocks"),
}
MOST_THREADS = 8
# Ticks by which a stamp that is read without a fence may be too early: writes before it may still
# be in the write buffer. Measured where two cores fight for cache lines (late.c of the
# benchmarks): 4000 for one line, 38,000 for several.
SLACK_TICKS = 40_000


class RecordSession:
    """One call of `unsnarl record`."""

    def __init__(
        self,
        command: tuple[str, ...],
        how: Mapping[str, Any],
        flags: Mapping[str, Any],
        noise: bool,
    ) -> None:
        cwd = Path.cwd()
        self._noise = noise
        self._settings = config.load(config.find_root(cwd), os.environ, flags)
        self._target = target.parse(command, cwd)
        self._how = Recorded(**how, clocks=_clocks(), slack=_slack(how))
        if self._how.branches and self._target.kind == "program":
            raise UsageError("level-unavailable", "branches can be recorded of Python only")
        self._store = Store.create(
            cwd,
            command,
            cwd,
            self._target.root,
            options=dataclasses.asdict(self._settings),
            python=self._target.python.version,
        )

    def run(self, until_fail: int | None, json_file: str | None) -> int:
        """Record, print; gives the exit code."""
        with showing(quiet=json_file == "-", doing="recording") as progress:
            recording = Recording(
                self._store,
                self._target,
                self._how,
                timeout=self._settings.timeout,
                seed=self._settings.seed,
                noise=self._noise,
                fail_if=self._settings.fail_if,
                progress=progress,
            )
            try:
                kept = self._record(recording, until_fail)
            except KeyboardInterrupt:
                raise self._interrupted(recording) from None
            finally:
                self._store.sweep()
        self._tell(recording, kept, json_file)
        self._store.close()
        return _exit_code(recording, kept)

    def _record(self, recording: Recording, until_fail: int | None) -> Kept | None:
        settings = self._settings
        folder, how = self._store.folder, self._how
        told = {"branches": how.branches, "loops": how.loops}
        with Engine(self._target, folder, 1, settings.include, **told) as engine:
            self._check_level()
            if until_fail is None:
                kept = recording.once(engine)
            else:
                kept = recording.until_failure(engine, until_fail, settings.time)
            if not engine.ready.modules and not recording.saw_code:
                raise nothing_instrumented(self._target.root)
            return kept

    def _check_level(self) -> None:
        """A program tells only of what it was built to tell of."""
        kinds, word = NEEDED.get(self._how.level, ((), ""))
        if not kinds or self._target.kind != "program":
            return
        table = SiteTable.load(self._store.folder / "codes.json", self._target.root)
        if not all(table.of_kinds((kind,)) for kind in kinds):
            name = word.lstrip("-").upper()
            raise UsageError(
                "level-unavailable",
                f"{self._target.args[0]} does not tell of its {word.lstrip('-')}",
                f"build it with `unsnarl cc {word}`, or with UNSNARL_CC_{name}=1 in the "
                "environment; or record with --level sync or access",
            )

    def _interrupted(self, recording: Recording) -> UnsnarlError:
        text = f"interrupted after {recording.tally.total} runs; none failed"
        return UnsnarlError("interrupted", text, "", EXIT_INTERRUPTED)

    def _tell(self, recording: Recording, kept: Kept | None, json_file: str | None) -> None:
        if json_file is not None:
            document = self._document(recording, kept)
            write_json(json_file, msgspec.json.format(msgspec.json.encode(document)) + b"\n")
        if json_file != "-":
            for line in self._lines(recording, kept):
                click.echo(line)

    def _document(self, recording: Recording, kept: Kept | None) -> dict[str, Any]:
        labels = recording.tally.labels
        runs = {"total": recording.tally.total} | {n: labels[n] for n in ("pass", "fail", "hang")}
        how = msgspec.to_builtins(self._how)
        return {
            "version": 1,
            "campaign": self._store.name,
            "command": list(self._target.command),
            "runs": runs,
            "record": None if kept is None else how | _facts(kept),
            "damaged": recording.damaged,
        }

    def _lines(self, recording: Recording, kept: Kept | None) -> list[str]:
        total = recording.tally.total
        runs = f"{total} run{'s' if total != 1 else ''} recorded"
        if kept is None:
            rate = f"failure rate below {3 / total:.2g} at 95 % [no-failure]"
            late = ["the time ran out first [budget-out]"] if recording.out_of_time else []
            return [*recording.damaged, f"{runs}, none failed: {rate}", *late]
        how, name = self._how, f"{self._store.name}/{kept.record.number}"
        ended = kept.record.signature or "it passed"
        size = f"{sum(kept.events.values())} events, {kept.bytes} bytes"
        lines = [
            f"{runs}; run {kept.record.number}: {ended}",
            f"level {how.level}, order {how.order}: {size} ({_by_thread(kept)})",
        ]
        if kept.dropped:
            lines.append(f"{kept.dropped} events had no room [log-dropped]")
        if kept.replaced:
            lines.append(hooks_replaced(kept.replaced))
        if kept.record.label == "pass":
            return lines
        return [*lines, f"  next: unsnarl reproduce {name}"]


def _clocks() -> dict[str, Any]:
    """What was measured since the machine was started; `unsnarl clocks` can do so later, too."""
    try:
        found = stored.load(machine.read())
    except ValueError as error:
        hint = "run `unsnarl clocks --again`"
        warn("clocks-damaged", f"what was kept of the clocks cannot be read: {error}", hint)
        found = None
    return {} if found is None else msgspec.to_builtins(found)


def _slack(how: Mapping[str, Any]) -> int:
    """How far a stamp without a fence may be off."""
    return 0 if how["fenced"] or how["order"] == "global" else SLACK_TICKS


def _facts(kept: Kept) -> dict[str, Any]:
    return {
        "run": kept.record.number,
        "label": kept.record.label,
        "signature": kept.record.signature,
        "seconds": kept.record.seconds,
        "events": kept.events,
        "bytes": kept.bytes,
        "dropped": kept.dropped,
        "replaced": kept.replaced,
    }


def _by_thread(kept: Kept) -> str:
    most = [f"{path}: {count}" for path, count in kept.events.items()][:MOST_THREADS]
    more = len(kept.events) - len(most)
    return ", ".join(most) + (f", and {more} more threads" if more > 0 else "")


def _exit_code(recording: Recording, kept: Kept | None) -> int:
    labels = recording.tally.labels
    if kept is not None and kept.record.label != "pass":
        return EXIT_FAILURE_FOUND
    if labels["fail"] or labels["hang"] or recording.damaged or recording.out_of_time:
        return EXIT_INCONCLUSIVE  # or something failed, and nothing of it could be kept
    return EXIT_OK
