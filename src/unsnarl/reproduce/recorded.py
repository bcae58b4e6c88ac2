# SPDX-License-Identifier: Apache-2.0
"""A recorded failure: what every method that is to find it back starts from."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from unsnarl.campaigns.store import Store
from unsnarl.errors import ToolError, UsageError
from unsnarl.model.record import Record
from unsnarl.model.run import RunRecord
from unsnarl.reproduce.clocks import machine, stored
from unsnarl.reproduce.clocks.ranges import Clocks
from unsnarl.reproduce.replay import is_recorded
from unsnarl.runfile import RunFile, RunFileError, read_run


@dataclass(frozen=True, eq=False)
class Case:
    """A failure that was recorded.

    Attributes:
        run: How it ended.
        record: What its threads logged.
        clocks: What is known of the clocks that stamped it; None if nothing.
        dropped: Events for which there was no room.
    """

    run: RunRecord
    record: Record
    clocks: Clocks | None
    dropped: int

    @property
    def failing(self) -> str:
        """The thread that failed; "" if no single one did."""
        return self.run.failure.thread if self.run.failure else ""


def load(store: Store, number: int) -> Case:
    """The record of a run.

    Raises:
        UsageError: There is no such run, it was not recorded, or it did not fail.
        ToolError: Its file is damaged.
    """
    found = next((one for one in store.runs() if one.record.number == number), None)
    name = f"run {number} of campaign {store.name}"
    if found is None:
        raise UsageError("no-run", f"campaign {store.name} has no run {number}")
    if not found.kept or not is_recorded(store, number):
        raise UsageError(
            "no-record",
            f"{name} has no record",
            "make one: unsnarl record --until-fail 1000 -- COMMAND",
        )
    if found.record.label == "pass":
        raise UsageError(
            "record-passed",
            f"{name} was recorded and passed: there is no failure to find back",
            "record until one fails: unsnarl record --until-fail 1000 -- COMMAND",
        )
    return _case(store.run_file(number), found.record)


def _case(path: Path, run: RunRecord) -> Case:
    try:
        file = read_run(path)
        record = file.record
        clocks = _clocks(path, record) if record else None
    except (RunFileError, msgspec.MsgspecError, ValueError) as error:
        raise damaged(path, error) from None
    if record is None or not record.events:
        raise damaged(path, f"{path.name} holds no events of a recorded run")
    return Case(run, record, clocks, _dropped(file))


def damaged(path: Path, error: object) -> ToolError:
    """For a record that cannot be used."""
    return ToolError("damaged-run-file", f"{error}", f"record anew; {path} is of no use")


def _dropped(file: RunFile) -> int:
    return file.counters["log_dropped"]


def _clocks(path: Path, record: Record) -> Clocks | None:
    """Those that the record carries; else what was measured since the machine was started."""
    if record.how.clocks:
        return msgspec.convert(record.how.clocks, Clocks)
    uptime = time.clock_gettime(time.CLOCK_BOOTTIME)
    if record.how.order == "global" or path.stat().st_mtime < time.time() - uptime:
        return None
    return stored.load(machine.read())
