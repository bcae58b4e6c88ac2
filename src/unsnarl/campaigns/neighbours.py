# SPDX-License-Identifier: Apache-2.0
"""Runs near those that failed, where failures are rare.

A failure of two in a hundred runs leaves a ranking with a handful of failing runs when the time is
over. Most thread switches of a failing run have nothing to do with its failure: its schedule with
a few of them left out fails again much more often than a run that is drawn anew, and where it does
not, one of the few mattered. So part of the runs follow the schedule of a failing run, changed at
random (docs/adr/0053).

What fails there is compared with what passes there: passing runs are kept of the same mixture
(tally.py), so what all neighbours of a run have in common sets none of them apart. Only runs of the
rotation's own strategies have neighbours, and only these say how often a failure comes.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any, Literal, NamedTuple

from unsnarl.model.plan import Plan
from unsnarl.model.run import RunRecord, Switch
from unsnarl.model.schedule import Schedule, Segment

# The strategy under which their records are stored; the rotation itself has no replays.
NEAR: Literal["replay"] = "replay"
# Failures are rare if no more than this share of so many runs failed.
RARE, LEAST_RUNS = 0.1, 40
# Of the runs while they are; the others go on looking for other failures, and for other ways.
SHARE = 0.5
# The first switches bring the program up. One change may do nothing, many change everything.
MOST_CHANGES = 6


class _Failed(NamedTuple):
    """What repeats a run that failed."""

    record: RunRecord
    schedule: Schedule


class Neighbours:
    """Knows the runs that failed, and makes plans of runs near them."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._failed: dict[tuple[str, str], list[_Failed]] = {}
        self._runs: Counter[str] = Counter()

    def learn(self, record: RunRecord, schedule: Schedule) -> None:
        """Take in a finished run; of one that passed the schedule does not matter."""
        if record.strategy == NEAR:
            return
        self._runs[record.switch] += 1
        if record.label == "fail" and schedule:
            failed = self._failed.setdefault((record.switch, record.signature), [])
            failed.append(_Failed(record, schedule))

    def plan(self, number: int, switch: Switch, **fields: Any) -> Plan | None:
        """A run near one that failed; None if its number is to be one of the others."""
        failed = self._best(switch)
        draw = random.Random(f"{self._seed}/{number}/near")
        if not self._is_rare(switch, len(failed)) or draw.random() >= SHARE:
            return None
        record, schedule = draw.choice(failed)
        return Plan(
            number=number,
            strategy=NEAR,
            seed=record.seed,
            schedule=changed(schedule, draw),
            switch=switch,
            **fields,
        )

    def _best(self, switch: str) -> list[_Failed]:
        """The failing runs of the most frequent signature."""
        found = [(len(runs), key) for key, runs in self._failed.items() if key[0] == switch]
        return self._failed[max(found)[1]] if found else []

    def _is_rare(self, switch: str, failed: int) -> bool:
        runs = self._runs[switch]
        return runs >= LEAST_RUNS and 0 < failed <= RARE * runs


def changed(schedule: Schedule, draw: random.Random) -> Schedule:
    """A schedule with a few changes: a thread is left on its way longer, or goes on earlier.

    Segments end with their thread's own count of events, so one that is left out is made up for by
    the next one of its thread.
    """
    segments = list(schedule)
    for _ in range(draw.randint(1, MOST_CHANGES)):
        if len(segments) < 3:
            break
        at = draw.randrange(1, len(segments) - 1)
        if draw.random() < 0.5:
            del segments[at]
        else:
            _move_up(segments, at)
    return tuple(segments)


def _move_up(segments: list[Segment], at: int) -> None:
    """Let the next segment of another thread come before this one."""
    segments[at], segments[at + 1] = segments[at + 1], segments[at]
