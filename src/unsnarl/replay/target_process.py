# SPDX-License-Identifier: Apache-2.0
"""A stored campaign and a new process of its target: all that a replay needs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from unsnarl import config
from unsnarl.campaigns import store as stores
from unsnarl.campaigns.signature_split import stored_split
from unsnarl.campaigns.store import Store
from unsnarl.campaigns.tally import HUNT
from unsnarl.errors import UsageError
from unsnarl.execution.budget import Budget, OutOfTimeError
from unsnarl.execution.runner import Runner, started
from unsnarl.execution.target import Target
from unsnarl.execution.trials import Trial, Trials
from unsnarl.replay.anchors import AnchoredSchedule
from unsnarl.replay.constraints import Constrained
from unsnarl.replay.replayer import Replayed, Replayer, stored_schedules

# A folder of its own: the campaign's codes.json must stay that of its runs.
SCRATCH = "replay"
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


class TargetProcess:
    """A new process of a campaign's target, in which its runs can be replayed."""

    def __init__(self, store: Store, trials: Trials, codes: Path) -> None:
        self.codes = codes
        self._store = store
        self.trials = trials

    @property
    def is_unchanged(self) -> bool:
        """Whether the code is that of the campaign's runs: then so are the numbers of its sites."""
        return self.codes.read_bytes() == self._store.codes.read_bytes()

    @property
    def target(self) -> Target:
        """What is run."""
        return self._store.target()

    @property
    def setup(self) -> dict[str, Any]:
        """Where it is run, and what belongs to it."""
        include = config.override(self._store.description.options, {}).include
        return {"cwd": str(self.target.cwd), "root": str(self.target.root), "include": include}

    def replayer(self, schedule: AnchoredSchedule) -> Replayer:
        """The replayer that follows this schedule."""
        root = Path(self._store.description.root)
        return Replayer(schedule, self.trials, self.codes, root, self._store.overlay)

    def repeat(self, schedule: AnchoredSchedule, times: int) -> tuple[Replayed, list[Trial]]:
        """Replay a run so many times; where that leads nowhere, try its minimised constraints.

        Less of it, if the time ends before; the budget notes that.
        """
        budget = self.trials.budget
        replayer = self.replayer(schedule)
        trials: list[Trial] = []
        constrained: Constrained | None = None
        try:
            trials = replayer.follow(times)
            if not any(map(replayer.fails, trials)) and not budget.is_interrupted:
                constrained = self._constrained(replayer, max(times, FRESH_RUNS))
        except OutOfTimeError:
            budget.note("replay", f"replaying run {schedule.run}", "time")
        summary, cut = replayer.summary(trials), bool(budget.unfinished)
        return msgspec.structs.replace(summary, constrained=constrained, cut=cut), trials

    def _constrained(self, replayer: Replayer, runs: int) -> Constrained | None:
        """Under the constraints of the run, else those of another one that failed in this way."""
        if replayer.schedule.constraints:
            return replayer.constrained(runs)
        # Experiments minimise one run of a signature; its constraints speak for the others, too.
        for other in stored_schedules(self._store):
            if other.constraints and other.signature == replayer.schedule.signature:
                return self.replayer(other).constrained(runs)
        return None


@contextlib.contextmanager
def start_target(
    store: Store,
    seconds: float | None = None,
    *,
    budget: Budget | None = None,
    branches: bool = False,
    loops: bool = False,
) -> Iterator[TargetProcess]:
    """Start the target of a campaign in a new process.

    Args:
        seconds: Replaces the time limit of a run.
        budget: The time for all that is done with it.
        branches: With probes at branches, as some records were made with.
        loops: With probes where loops go back, likewise.
    """
    description = store.description
    settings = config.override(description.options, {})
    found = store.target()
    folder = store.folder / SCRATCH
    making = started(found, folder, settings, scratch=True, branches=branches, loops=loops)
    with making as runner:
        runner.distinguish(stored_split(store.folder))
        _learn_pace(runner, store)
        # The mode is part of every schedule.
        trials = Trials(runner, folder, "gil", seconds or settings.timeout, budget)
        yield TargetProcess(store, trials, runner.engine.codes)


def _learn_pace(runner: Runner, store: Store) -> None:
    """A run that hangs is recognised from the first on: how long they take was seen before.

    Recorded runs are no measure: nobody controls their threads.
    """
    for stored in store.runs():
        if stored.phase == HUNT and stored.record.label != "hang":
            runner.pace.take(stored.record.seconds)
