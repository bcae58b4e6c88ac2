# SPDX-License-Identifier: Apache-2.0
"""A stored campaign and a new process of its target: all that a replay needs."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from unsnarl import config
from unsnarl.campaigns import store as stores
from unsnarl.campaigns import target
from unsnarl.campaigns.engine import Engine
from unsnarl.campaigns.judging import Judge
from unsnarl.campaigns.store import Store, storing
from unsnarl.campaigns.target import Target
from unsnarl.errors import UsageError
from unsnarl.experiments.trials import Trial, Trials
from unsnarl.reproduce.anchors import AnchoredSchedule
from unsnarl.reproduce.constraints import Constrained
from unsnarl.reproduce.replay import Replayed, Replayer, stored_schedules

# Beside the campaign's own codes.json, which must stay that of its runs.
SCRATCH = "replay"
CODES = "codes.json"
# At least so many fresh runs show what the constraints of a run lead to.
FRESH_RUNS = 20


def find_run(cwd: Path, word: str) -> tuple[Path, int]:
    """The campaign's folder and the number of a run: by number, name, file or CAMPAIGN/RUN."""
    path = cwd / word
    if path.suffix == ".run" and path.is_file():
        folder = path.resolve().parent.parent
        if (folder / "campaign.json").exists():
            return folder, _number(path.stem)
    campaign, _, run = word.removesuffix(".run").rpartition("/")
    return stores.find(cwd, campaign), _number(run)


def _number(word: str) -> int:
    if not word.isdecimal():
        raise UsageError(
            "no-run",
            f"{word!r} is no run",
            "name it by its number, as reports do (12), or with its campaign: CAMPAIGN/12",
        )
    return int(word)


class Again:
    """A new process of a campaign's target, in which its runs can be replayed."""

    def __init__(self, store: Store, trials: Trials, codes: Path) -> None:
        self.codes = codes
        self._store = store
        self.trials = trials

    @property
    def is_unchanged(self) -> bool:
        """Whether the code is that of the campaign's runs: then so are the numbers of its sites."""
        return self.codes.read_bytes() == (self._store.folder / CODES).read_bytes()

    @property
    def target(self) -> Target:
        """What is run."""
        return _target_of(self._store)

    @property
    def setup(self) -> dict[str, Any]:
        """Where it is run, and what belongs to it."""
        include = config.override(self._store.description.options, {}).include
        return {"cwd": str(self.target.cwd), "root": str(self.target.root), "include": include}

    def replayer(self, schedule: AnchoredSchedule) -> Replayer:
        """What follows this schedule."""
        root = Path(self._store.description.root)
        return Replayer(schedule, self.trials, self.codes, root)

    def repeat(self, schedule: AnchoredSchedule, times: int) -> tuple[Replayed, list[Trial]]:
        """Replay a run so many times; where that leads nowhere, try its minimised constraints."""
        replayer = self.replayer(schedule)
        trials = replayer.follow(times)
        told = replayer.summary(trials)
        if not told.failed:
            constrained = self._constrained(replayer, max(times, FRESH_RUNS))
            told = msgspec.structs.replace(told, constrained=constrained)
        return told, trials

    def _constrained(self, replayer: Replayer, runs: int) -> Constrained | None:
        """Under the constraints of the run, else those of another one that failed in this way."""
        if replayer.schedule.constraints:
            return replayer.constrained(runs)
        for other in stored_schedules(self._store):
            if other.constraints and other.signature == replayer.schedule.signature:
                return self.replayer(other).constrained(runs)
        return None


def _target_of(store: Store) -> Target:
    return target.parse(store.description.command, Path(store.description.cwd))


@contextlib.contextmanager
def again(
    store: Store, seconds: float | None = None, *, branches: bool = False, loops: bool = False
) -> Iterator[Again]:
    """Start the target of a campaign once more.

    Args:
        seconds: Replaces the time limit of a run.
        branches: With probes at branches, as some records were made with.
        loops: With probes where loops go back, likewise.
    """
    description = store.description
    settings = config.override(description.options, {})
    found = _target_of(store)
    folder = store.folder / SCRATCH
    with storing(store.folder):
        folder.mkdir(exist_ok=True)
    try:
        told = {"branches": branches, "loops": loops}
        with Engine(found, folder, settings.jobs, settings.include, **told) as engine:
            judge = Judge(found.root, folder / CODES, settings.fail_if)
            # The mode is part of every schedule.
            trials = Trials(engine, judge, folder, "gil", seconds or settings.timeout)
            yield Again(store, trials, folder / CODES)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
