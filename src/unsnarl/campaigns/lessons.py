# SPDX-License-Identifier: Apache-2.0
"""What earlier runs teach the plans of later ones, and when.

A plan depends on the runs up to a fixed distance before its own, never on what else happens to have
ended by then. So the same seed gives the same hunt, however many runs are made at once and however
busy the machine is (docs/adr/0034).
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Iterator

import msgspec

from unsnarl.campaigns.neighbours import NEAR, Neighbours
from unsnarl.campaigns.profile import Profile
from unsnarl.campaigns.rotation import Rotation
from unsnarl.campaigns.tally import HUNT, Tally
from unsnarl.execution.result import Result
from unsnarl.model.run import RunRecord
from unsnarl.model.schedule import Schedule

# How far ahead of what they learn from plans are made, which is also how many runs can be under way
# at once. The first runs teach most, so the distance is small there, and the second run waits for
# the first: the strategies that find most need to have seen one.
LEAST_AHEAD, MOST_AHEAD, RUNS_PER_STEP_AHEAD = 2, 32, 4


def last_taught(number: int, teachers: int = sys.maxsize) -> int:
    """The last run that the plan of run `number` may depend on, if only the first so many teach."""
    if number <= LEAST_AHEAD:
        return number - 1
    ahead = min(MOST_AHEAD, max(LEAST_AHEAD, number // RUNS_PER_STEP_AHEAD))
    return min(number - ahead, teachers)


class Lesson(msgspec.Struct, frozen=True):
    """One finished run, as far as plans depend on it.

    Attributes:
        profile: What it showed, if it is to be learned from.
        wide: Whether it could switch anywhere.
        schedule: What repeats it, if it failed.
    """

    record: RunRecord
    phase: str
    profile: Profile | None = None
    wide: bool = True
    schedule: Schedule = ()


class Lessons:
    """Holds finished runs back until a plan may depend on them.

    Attributes:
        tally: The runs that the next plan may depend on.
        rotation: What has learned from them.
        neighbours: What knows those of them that failed.
    """

    def __init__(
        self,
        tally: Tally,
        rotation: Rotation,
        neighbours: Neighbours,
        teachers: int = sys.maxsize,
    ) -> None:
        self.tally = tally
        self.rotation = rotation
        self.neighbours = neighbours
        self._teachers = teachers
        self._waiting: deque[Lesson] = deque()

    def add(self, lesson: Lesson) -> None:
        """Take in a finished run; runs come by their numbers."""
        self._waiting.append(lesson)

    def teach(self, number: int) -> None:
        """All that the plan of run `number` may depend on."""
        last = last_taught(number, self._teachers)
        while self._waiting and self._waiting[0].record.number <= last:
            self._teach(self._waiting.popleft())

    def _teach(self, lesson: Lesson) -> None:
        record, passed = lesson.record, lesson.record.label == "pass"
        self.tally.count(record, lesson.phase)
        if lesson.phase == HUNT:
            self.neighbours.learn(record, lesson.schedule)
        if record.strategy != NEAR:
            self.rotation.count(record.strategy, not passed)
        if lesson.profile is not None:
            self.rotation.learn(lesson.profile, passed=passed, wide=lesson.wide)


class InOrder:
    """Gives results by the numbers of their runs, whichever ended first."""

    def __init__(self, teachers: int = sys.maxsize) -> None:
        self._teachers = teachers
        self._awaited: deque[int] = deque()
        self._early: dict[int, Result] = {}

    def submitted(self, number: int) -> None:
        """A run was started."""
        self._awaited.append(number)

    def may_plan(self, number: int) -> bool:
        """Whether all that the plan of this run depends on is there."""
        return not self._awaited or self._awaited[0] > last_taught(number, self._teachers)

    def take(self, results: Iterable[Result]) -> Iterator[Result]:
        """Of these results and of those that were early, the ones whose turn it is."""
        self._early.update((result.plan.number, result) for result in results)
        while self._awaited and self._awaited[0] in self._early:
            yield self._early.pop(self._awaited.popleft())

    def drop(self) -> None:
        """Do without the results of all runs that were started."""
        self._awaited.clear()
        self._early.clear()
