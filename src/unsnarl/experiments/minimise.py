# SPDX-License-Identifier: Apache-2.0
"""The smallest set of constraints under which the failure happens every time.

Starts from what the finding itself says, in the occurrences of one failing run; if that does not
make the failure certain, from all conflicts of that run, lock hand-offs included, and "the failing
thread's last event before every other thread's next one", without which bugs of three threads do
not come back (a prototype's lesson). Then whatever can go, goes, the least suspicious first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from unsnarl.experiments.constraints import Constraint, Event, Timeline
from unsnarl.experiments.scene import Spot
from unsnarl.experiments.trials import Trials, fresh_plans

TRIES = 6
CERTAIN = 100
MOST_REPLAYS = 300


@dataclass(frozen=True)
class Minimal:
    """Constraints, and how often the failure came about under them in fresh runs."""

    constraints: tuple[Constraint, ...]
    reproduced: int
    tries: int
    replays: int


class Minimiser:
    """Cuts a failing schedule down to what matters."""

    def __init__(self, trials: Trials, signature: str, timeline: Timeline, failing: str) -> None:
        self._trials = trials
        self._signature = signature
        self._timeline = timeline
        self._failing = failing
        self._start = trials.count

    def minimise(self, spots: Sequence[Spot]) -> Minimal | None:
        """The smallest set found; None if nothing makes the failure certain."""
        for candidates in (self._told(spots), self._told(spots) + self._end(), self._all(spots)):
            if candidates and self._always(candidates):
                return self._certified(self._reduced(candidates))
            if self._spent() > MOST_REPLAYS:
                return None
        return None

    def _spent(self) -> int:
        return self._trials.count - self._start

    def _always(self, constraints: Sequence[Constraint], tries: int = TRIES) -> bool:
        return self._failures(constraints, tries) == tries

    def _failures(self, constraints: Sequence[Constraint], tries: int) -> int:
        seed = f"minimise/{self._spent()}"
        plans = fresh_plans(seed, tries, rules=[one.rule for one in constraints])
        return sum(trial.fails_as(self._signature) for trial in self._trials.run(plans))

    def _reduced(self, constraints: list[Constraint]) -> list[Constraint]:
        """Without all that can be left out: halves first, then one by one from the end."""
        kept = list(constraints)
        size = len(kept) // 2
        while size >= 1 and self._spent() < MOST_REPLAYS:
            at = len(kept) - size
            while at >= 0 and len(kept) > 1 and self._spent() < MOST_REPLAYS:
                without = kept[:at] + kept[at + size :]
                if without and self._always(without):
                    kept = without
                at -= size
            size //= 2
        return kept

    def _certified(self, constraints: list[Constraint]) -> Minimal:
        failed = self._failures(constraints, CERTAIN)
        return Minimal(tuple(constraints), failed, CERTAIN, self._spent() - CERTAIN)

    def _told(self, spots: Sequence[Spot]) -> list[Constraint]:
        """The finding's own conflicts, as they occurred in the run."""
        story = self._story(spots)
        found = [
            self._timeline.constraint(one, other)
            for one, other in pairwise(story)
            if one.path != other.path
        ]
        return [one for one in found if one is not None]

    def _story(self, spots: Sequence[Spot]) -> list[Event]:
        """The latest occurrence of the spots in their order, in matching threads."""
        best: list[Event] = []
        for first in reversed(self._timeline.occurrences(spots[0].points)):
            story = [first]
            threads = {spots[0].role: first.path}
            for spot in spots[1:]:
                later = [
                    event
                    for event in self._timeline.occurrences(spot.points, threads.get(spot.role))
                    if event.at > story[-1].at
                    and (spot.role in threads or event.path not in threads.values())
                ]
                if not later:
                    break
                threads.setdefault(spot.role, later[0].path)
                story.append(later[0])
            if len(story) > len(best):
                best = story
            if len(best) == len(spots):
                break
        return best

    def _end(self) -> list[Constraint]:
        """The failing thread's last event before what the others did next."""
        last = self._timeline.last_of(self._failing)
        if last is None:
            return []
        found = [
            self._timeline.constraint(last, event) for event in self._timeline.next_pending(last)
        ]
        return [one for one in found if one is not None]

    def _all(self, spots: Sequence[Spot]) -> list[Constraint]:
        told = self._told(spots)
        pairs = self._timeline.conflicts()
        found = [self._timeline.constraint(one, other) for one, other in pairs]
        rest = [one for one in found if one is not None and one not in told]
        return told + self._end() + rest[-60:]
