# SPDX-License-Identifier: Apache-2.0
"""Trace: a failing run once more, with every event of its threads kept."""

from __future__ import annotations

from pathlib import Path

from unsnarl.campaigns.store import Store
from unsnarl.errors import EXIT_INCONCLUSIVE, UnsnarlError
from unsnarl.model.trace import RunTrace
from unsnarl.replay.replayer import load_schedule
from unsnarl.replay.target_process import find_run, start_target
from unsnarl.reports.run_trace import run_trace
from unsnarl.runfile import SiteTable


def trace(run: str) -> RunTrace:
    """All events of a failing run: a replay of it, which must fail as recorded."""
    folder, number = find_run(Path.cwd(), run)
    store = Store.open(folder)
    try:
        schedule = load_schedule(store, number)
        with start_target(store) as process:
            replayer = process.replayer(schedule)
            (trial,) = replayer.follow(1, trace=True)
            if trial.run is None or not replayer.fails(trial):
                raise UnsnarlError(
                    "replay-differs",
                    f"the run does not fail as recorded: {trial.signature or 'it passes'}",
                    f"see where it leaves the track: unsnarl replay {number}",
                    EXIT_INCONCLUSIVE,
                )
            table = SiteTable.load(replayer.path, replayer.root)
            table.learn(trial.run.codes)
            return run_trace(number, schedule.signature, trial.run, table, replayer.root)
    finally:
        store.close()
