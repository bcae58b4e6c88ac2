# SPDX-License-Identifier: Apache-2.0
"""Recorded runs that are stored, for those who bring them back."""

from __future__ import annotations

from typing import NamedTuple

from unsnarl.campaigns.store import Store
from unsnarl.errors import UsageError
from unsnarl.model.record import Record
from unsnarl.model.run import RunRecord
from unsnarl.runfile import RunFile, RunFileError, read_run


class StoredRecord(NamedTuple):
    """A recorded run: what the store has of it, its file, and what its threads logged."""

    record: RunRecord
    run: RunFile
    logs: Record


def load_record(store: Store, number: int) -> StoredRecord:
    """The recorded run of this number, or what is wrong with it in one message."""
    found = next((one for one in store.runs() if one.record.number == number), None)
    if found is None or not found.kept:
        raise UsageError("no-run", f"campaign {store.name} has no run {number} on disk")
    try:
        run = read_run(store.run_file(number))
        logs = run.record
    except RunFileError as error:
        raise UsageError("damaged-run-file", str(error)) from None
    if logs is None:
        hint = "record it first: unsnarl record --until-fail 1000 -- COMMAND"
        raise UsageError("no-run", f"run {number} of {store.name} was not recorded", hint)
    return StoredRecord(found.record, run, logs)
