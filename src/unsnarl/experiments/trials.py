# SPDX-License-Identifier: Apache-2.0
"""Trials: runs of the target for an experiment. They are labelled like others, and not kept.

Unless their plan says where: `keep`, a run file in the store of a campaign.
"""

from __future__ import annotations

import itertools
import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unsnarl.campaigns.engine import Done, Engine
from unsnarl.campaigns.judging import Judge
from unsnarl.model.run import Failure, Label, RunRecord, Switch
from unsnarl.runfile import RunFile, RunFileError, read_run

Plan = Mapping[str, Any]

# Numbers of trials must not meet those of hunted runs and of replays (campaigns/replays.py).
FIRST_NUMBER = 2_000_000
STRATEGIES = ("walk", "pos", "pct")


NOTHING = Done(0)


@dataclass(frozen=True, eq=False)
class Trial:
    """One run under a plan; `run` is None if it left no readable file."""

    plan: Plan
    label: Label
    signature: str
    run: RunFile | None
    done: Done = NOTHING
    failure: Failure | None = None

    def fails_as(self, signature: str) -> bool:
        """Whether it failed with this signature."""
        return self.label != "pass" and self.signature == signature

    def record(self, number: int) -> RunRecord:
        """As a store keeps it."""
        threads = self.run.threads if self.run else ()
        return RunRecord(
            number=number,
            label=self.label,
            signature=self.signature,
            strategy=self.plan["strategy"],
            seed=self.plan["seed"],
            switch=self.plan["switch"],
            status=self.done.status,
            signal=self.done.signal,
            seconds=self.done.seconds,
            threads_seen=len(threads),
            threads_controlled=sum(thread.controlled for thread in threads),
            failure=self.failure,
        )


class Trials:
    """Makes trials with an engine, several at once.

    Attributes:
        engine: What runs them.
        judge: What labels them.
        count: How many were made.
    """

    def __init__(
        self, engine: Engine, judge: Judge, folder: Path, switch: Switch, timeout: float
    ) -> None:
        self.engine = engine
        self.judge = judge
        self._folder = folder / "trials"
        self._folder.mkdir(exist_ok=True)
        self._switch = switch
        self._timeout = timeout
        self._numbers = itertools.count(FIRST_NUMBER)
        self.count = 0

    def run(self, plans: Iterable[Plan]) -> list[Trial]:
        """One trial per plan, in the order of the plans."""
        waiting = deque(self._whole(plan) for plan in plans)
        flying: dict[int, dict[str, Any]] = {}
        done: dict[int, Trial] = {}
        while waiting or flying:
            while waiting and self.engine.vacant > 0:
                plan = waiting.popleft()
                # From now on: what waits behind a long batch is not late.
                plan["deadline"] = time.monotonic() + 3 * self._timeout + 10
                flying[plan["number"]] = plan
                self.engine.submit(plan)
            done.update(self._ended(flying))
        return [done[number] for number in sorted(done)]

    def by_hand(self, plan: Plan, run: Callable[[dict[str, Any]], Done]) -> Trial:
        """One trial that somebody else runs: a person, with a debugger."""
        whole = self._whole(plan)
        return self._trial(run(whole), whole)

    def _ended(self, flying: dict[int, dict[str, Any]]) -> Iterator[tuple[int, Trial]]:
        for one in self.engine.wait(0.5):
            if one.number in flying:
                yield one.number, self._trial(one, flying.pop(one.number))
        overdue = time.monotonic()
        lost = [n for n, plan in flying.items() if plan["deadline"] < overdue]
        for number in lost:
            yield number, Trial(flying.pop(number), "hang", "", None)

    def _whole(self, plan: Plan) -> dict[str, Any]:
        """The plan with all that it leaves open."""
        number = next(self._numbers)
        self.count += 1
        return {
            "seed": 0,
            "strategy": "walk",
            "switch": self._switch,
            "timeout": self._timeout,
            "depth": 3,
            "length": 400,
            "sites": None,
            "interest": None,
            "counts": None,
            "schedule": None,
            "capture": None,
            "trace": False,
            "brief": not self.judge.reads_output,
            **plan,
            "number": number,
            "file": str(self._folder / f"{number}.run"),
            "output": str(self._folder / f"{number}.out"),
        }

    def _trial(self, done: Done, plan: dict[str, Any]) -> Trial:
        file, output = Path(plan["file"]), Path(plan["output"])
        run = _read(file)
        verdict = self.judge.verdict(done, run, output)
        _put_away(file, output, plan.get("keep") if run is not None else None)
        return Trial(plan, verdict.label, verdict.signature, run, done, verdict.failure)


def fresh_plans(seed: str, count: int, **fields: Any) -> list[Plan]:
    """Plans with seeds and strategies of their own; equal arguments give equal plans."""
    draw = random.Random(seed)
    return [
        {
            "seed": draw.getrandbits(32),
            "strategy": STRATEGIES[at % len(STRATEGIES)],
            "depth": draw.randint(2, 4),
            **fields,
        }
        for at in range(count)
    ]


def replaying(run: RunFile, seed: int) -> dict[str, object]:
    """The part of a plan that repeats a run of this process."""
    segments = [[one.path, one.until, one.point] for one in run.schedule]
    return {"strategy": "replay", "schedule": segments, "seed": seed}


def _put_away(file: Path, output: Path, keep: str | None) -> None:
    if keep is not None:
        file.replace(keep)
        if output.exists():
            output.replace(Path(keep).with_suffix(".out"))
    file.unlink(missing_ok=True)
    output.unlink(missing_ok=True)


def _read(path: Path) -> RunFile | None:
    try:
        run = read_run(path)
        _ = run.notes
        return run
    except RunFileError:
        return None
