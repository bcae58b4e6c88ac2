# SPDX-License-Identifier: Apache-2.0
"""Replay a stored failing run to take the values that its accesses saw.

Values are never taken while hunting: it would cost too much. A replay follows the recorded
schedule, so it sees what the run saw; one that ends differently is not used.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from unsnarl.campaigns.engine import Done, Engine
from unsnarl.campaigns.store import Store
from unsnarl.model.run import RunRecord
from unsnarl.runfile import RunFile, RunFileError, read_run

# Numbers of replays are apart from those of runs.
FIRST_NUMBER = 1_000_000_000


class Replays:
    """Replays runs of one campaign, with the engine that made them if it is still there."""

    def __init__(self, store: Store, engine: Engine | None = None, timeout: float = 10.0) -> None:
        self._store = store
        self._engine = engine
        self._timeout = timeout

    def of(self, record: RunRecord, run: RunFile, points: Sequence[int]) -> RunFile | None:
        """The replay of a run, with the values at `points`; None if none can be trusted."""
        path = self._store.replay_file(record.number)
        if self._engine is not None and not path.exists() and record.label != "hang":
            done = self._replay(self._engine, record, run, points)
            if done is None or (done.status, done.signal) != (record.status, record.signal):
                path.unlink(missing_ok=True)
        try:
            replay = read_run(path)
            return replay if _same_failure(run, replay) else None
        except RunFileError:
            return None

    def _replay(
        self, engine: Engine, record: RunRecord, run: RunFile, points: Sequence[int]
    ) -> Done | None:
        number = FIRST_NUMBER + record.number
        output = self._store.output_file(number)
        limit = time.monotonic() + 2 * self._timeout + 5
        while engine.vacant < 1 and time.monotonic() < limit:
            engine.wait(0.1)
        engine.submit(
            {
                "number": number,
                "seed": record.seed,
                "strategy": "replay",
                "switch": record.switch,
                "timeout": self._timeout,
                "file": str(self._store.replay_file(record.number)),
                "output": str(output),
                "depth": 0,
                "length": 0,
                "sites": None,
                "interest": None,
                "counts": None,
                "schedule": [
                    [segment.path, segment.until, segment.point] for segment in run.schedule
                ],
                "capture": points,
                "trace": False,
            }
        )
        found = None
        while found is None and time.monotonic() < limit:
            found = next((done for done in engine.wait(0.5) if done.number == number), None)
        output.unlink(missing_ok=True)
        return found


def _same_failure(run: RunFile, replay: RunFile) -> bool:
    if replay.counters["diverged"]:
        return False
    first = [(failure.type, failure.thread) for failure in run.failures[:1]]
    return first == [(failure.type, failure.thread) for failure in replay.failures[:1]]
