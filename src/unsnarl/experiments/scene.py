# SPDX-License-Identifier: Apache-2.0
"""From the lines of an answer to what the gate understands: points to watch, points to hold at.

Holding a thread at the access itself mostly does nothing: it sits inside a critical section that
the other thread needs. Every hold is lifted to the outermost acquire around the access (measured by
a prototype: with lifting forbidding worked on 6 of 6 causes, without on 1). Where no lock is held,
the hold is at the last place before the access at which the gate can switch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unsnarl.analyses.answer import Answer
from unsnarl.experiments.constraints import Timeline
from unsnarl.model.site import Op
from unsnarl.runfile import Interner, RunFile

Points = tuple[int, ...]


@dataclass(frozen=True)
class Spot:
    """One line of an answer in terms of the gate.

    Attributes:
        points: The raw points of the line.
        holds: Where a thread must be stopped to come too late for it.
        role: Its thread.
        code: The site ids of its function: the first one, and the first one after it.
        heads: Where a thread can last be switched before the access, locks or not.
        ends: What comes when the very access is done (a line may have others): a library does its
            work under its own lock.
    """

    points: Points
    holds: Points
    role: int
    code: tuple[int, int] = (0, 0)
    heads: Points = ()
    ends: Points = ()


class Stage:
    """What one traced run knows of locks around accesses and of switch points before them.

    `others` know further ways to an access, each with its own last switch point.
    """

    def __init__(self, run: RunFile, interner: Interner, others: Sequence[RunFile] = ()) -> None:
        self._interner = interner
        timeline = Timeline(run)
        self._around = _outermost_acquires(timeline)
        self._heads = _heads(run, others)
        self._releases = _releases(timeline)

    def spots(self, answer: Answer) -> list[Spot]:
        """The lines of an answer, in their order."""
        return [
            Spot(
                points,
                self.holds(points),
                line.role,
                self._interner.range_of(points[0]),
                tuple(sorted(set().union(*map(self.heads, points)))),
                self._ends(self._interner.raw_points(line.point)),
            )
            for line, points in ((line, self._raw(line.point)) for line in answer.lines)
        ]

    def holds(self, points: Iterable[int]) -> Points:
        """Where to stop a thread before any of these points."""
        found: set[int] = set()
        for point in points:
            around = self._around.get(point, set())
            if point & 15 in (Op.ACQUIRE, Op.WAIT):
                found.add(point)  # never lift a lock operation that is the pattern itself
            else:
                found |= around - {0}
                found |= self.heads(point) if 0 in (around or {0}) else set()
        return tuple(sorted(found))

    def _ends(self, points: Points) -> Points:
        """A call is told of before it is made; the library lets go of its lock when it is done."""
        done = {release for point in points for release in self._releases.get(point, ())}
        return tuple(sorted(done)) or points

    def heads(self, point: int) -> set[int]:
        """The points at which a thread could last be switched before this one."""
        return self._heads.get(point, {point})

    def _raw(self, index: int) -> Points:
        """The raw points of a line: all sites of it with the same operation."""
        places = self._interner.places()
        same = np.flatnonzero(places.line == places.line[index])
        raws = {raw for at in same for raw in self._interner.raw_points(int(at))}
        # A wait that never ended is in no trace: what was tried is to acquire.
        return tuple(
            sorted(raw - Op.WAIT + Op.ACQUIRE if raw & 15 == Op.WAIT else raw for raw in raws)
        )


def _outermost_acquires(timeline: Timeline) -> Mapping[int, set[int]]:
    """By point: the points of the outermost acquires that were open there; 0 for none."""
    around: dict[int, set[int]] = {}
    for event in timeline.events:
        if event.site and event.op is not Op.RELEASE:
            taken = [one.point for one in timeline.around(event) if one.site]
            around.setdefault(event.point, set()).add(taken[0] if taken else 0)
    return around


def _releases(timeline: Timeline) -> Mapping[int, set[int]]:
    """By call of a library: the points at which it let go of its own locks."""
    found: dict[int, set[int]] = {}
    for event in timeline.events:
        call = timeline.meaning(event)
        if event.op is Op.RELEASE and call is not event:
            found.setdefault(call.point, set()).add(event.point)
    return found


def _heads(run: RunFile, others: Sequence[RunFile]) -> dict[int, set[int]]:
    """By point: those of the sites at which its thread could last be switched before it."""
    met = np.unique(run.trace["point"]).tolist()
    met += [segment.point for one in (run, *others) for segment in one.schedule]
    points: dict[int, set[int]] = {}
    for point in met:
        points.setdefault(point >> 4, set()).add(point)
    heads: dict[int, set[int]] = {}
    for one in (run, *others):
        for site, head in np.unique(one.counts[["site", "head"]]).tolist():
            heads.setdefault(site, set()).update(points.get(head, ()))
    return {point: heads[point >> 4] for point in met if heads.get(point >> 4)}


def unrelated(run: RunFile, spots: Sequence[Spot], count: int) -> Points:
    """Shared points that no spot has, for a control arm: as many, spread over the run."""
    taken = {point for spot in spots for point in (*spot.points, *spot.holds)}
    shared = set(run.shared.tolist())
    free = [
        int(point)
        for point in np.unique(run.trace["point"]).tolist()
        if point >> 4 in shared and point not in taken
    ]
    step = max(1, len(free) // max(count, 1))
    return tuple(free[::step][:count])
