# SPDX-License-Identifier: Apache-2.0
"""Captures: replays of stored failing runs that note the values that their accesses saw.

Values are never noted while hunting: it would cost too much. A capture follows the run's schedule,
so it sees what the run saw; one that ends differently is not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from unsnarl.campaigns.store import Store
from unsnarl.errors import UnsnarlError
from unsnarl.execution.result import read_safely
from unsnarl.execution.runner import Runner
from unsnarl.execution.trials import replaying
from unsnarl.model.plan import Plan
from unsnarl.model.run import RunRecord
from unsnarl.runfile import RunFile

# Numbers of captures are apart from those of runs and trials.
FIRST_NUMBER = 1_000_000_000


class Captures:
    """Captures of one campaign's runs: stored ones and, with a runner, new ones."""

    def __init__(self, store: Store, runner: Runner | None = None, timeout: float = 10.0) -> None:
        self._store = store
        self._runner = runner
        self._timeout = timeout

    def of(self, record: RunRecord, run: RunFile, points: Sequence[int]) -> RunFile | None:
        """The capture of a run, with the values at `points`; None if none can be trusted."""
        path = self._store.capture_file(record.number)
        # A run that hung was cut off somewhere: its replay would take the whole time limit again.
        if self._runner is not None and not path.exists() and record.label != "hang":
            plan = self._plan(record, run, points)
            if not _ends_as(self._runner, plan, record):
                path.unlink(missing_ok=True)
        capture, _ = read_safely(path)
        return capture if capture is not None and _same_failure(run, capture) else None

    def _plan(self, record: RunRecord, run: RunFile, points: Sequence[int]) -> Plan:
        number = FIRST_NUMBER + record.number
        return replaying(
            run,
            record.seed,
            number=number,
            switch=record.switch,
            timeout=self._timeout,
            file=str(self._store.capture_file(record.number)),
            output=str(self._store.output_file(number)),
            capture=points,
        )


def _ends_as(runner: Runner, plan: Plan, record: RunRecord) -> bool:
    """Make a capture; whether it ended with the status of the run."""
    try:
        (result,) = runner.run([plan])
    except UnsnarlError as error:
        if error.slug != "program-refused":
            raise
        return False  # the program was built anew meanwhile: the report does without values
    finally:
        Path(plan.output).unlink(missing_ok=True)
    done = result.done
    return (done.status, done.signal) == (record.status, record.signal)


def _same_failure(run: RunFile, capture: RunFile) -> bool:
    # It left the schedule, so its values are those of another run.
    if capture.counters["diverged"]:
        return False
    first = [(failure.type, failure.thread) for failure in run.failures[:1]]
    return first == [(failure.type, failure.thread) for failure in capture.failures[:1]]
