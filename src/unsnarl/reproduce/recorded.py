# SPDX-License-Identifier: Apache-2.0
"""A recorded failure: what every method of reproducing it starts from."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from unsnarl.campaigns.store import Store
from unsnarl.errors import UsageError
from unsnarl.execution.trials import Trial
from unsnarl.model.record import Record
from unsnarl.model.run import RunRecord
from unsnarl.recording.clocks import machine, stored
from unsnarl.recording.clocks.ranges import Clocks
from unsnarl.recording.stored_records import load_record


@dataclass(frozen=True, eq=False)
class Case:
    """A failure that was recorded.

    Attributes:
        run: How it ended.
        record: What its threads logged.
        clocks: What was measured of the clocks that stamped it; None if nothing.
        dropped: Events for which there was no room.
        replaced: With what the program replaced the probe of its functions or lines; "" if it did
            not.
    """

    run: RunRecord
    record: Record
    clocks: Clocks | None
    dropped: int
    replaced: str = ""

    @property
    def failing(self) -> str:
        """The thread that failed; "" if no single one did."""
        return self.run.failure.thread if self.run.failure else ""

    def is_met_by(self, trial: Trial) -> bool:
        """Whether a run under the gate failed as recorded.

        A deadlock of a recorded C program is only seen to hang; the gate sees what it is.
        """
        hung = self.run.failure is not None and self.run.failure.kind == "hang"
        stuck = trial.failure is not None and trial.failure.kind == "deadlock"
        return trial.fails_as(self.run.signature) or (hung and stuck)


def load(store: Store, number: int) -> Case:
    """The record of a run that failed.

    Raises:
        UsageError: There is no such run, it was not recorded, it is damaged, or it passed.
    """
    found = load_record(store, number)
    path = store.run_file(number)
    if found.record.label == "pass":
        raise UsageError(
            "record-passed",
            f"run {number} of campaign {store.name} was recorded and passed: there is no failure "
            "to find back",
            "record until one fails: unsnarl record --until-fail 1000 -- COMMAND",
        )
    if not found.logs.events:
        raise damaged(path, "it holds no events")
    try:
        clocks = _clocks(path, found.logs)
    except msgspec.MsgspecError as error:
        raise damaged(path, f"what it says of the clocks makes no sense: {error}") from None
    run = found.run
    return Case(found.record, found.logs, clocks, run.counters["log_dropped"], run.notes.replaced)


def damaged(path: Path, why: str) -> UsageError:
    """For a record that cannot be used."""
    return UsageError("damaged-run-file", f"{path}: {why}", "record the failure anew")


def _clocks(path: Path, record: Record) -> Clocks | None:
    """Those that the record carries; else what was measured since the machine was started."""
    if record.how.clocks:
        return msgspec.convert(record.how.clocks, Clocks)
    # Counters begin anew with the machine: ranges of this boot say nothing of an older record.
    uptime = time.clock_gettime(time.CLOCK_BOOTTIME)
    if record.how.order == "global" or path.stat().st_mtime < time.time() - uptime:
        return None
    try:
        return stored.load(machine.read())
    except ValueError as error:
        hint = "measure them again: unsnarl clocks --again"
        raise UsageError("clocks-damaged", f"what was kept cannot be read: {error}", hint) from None
