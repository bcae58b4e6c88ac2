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
from typing import Any

import numpy as np
import numpy.typing as npt

from unsnarl.analyses.answer import Answer
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
        exact: The raw points of the very access; a line may have others.
        heads: Where a thread can last be switched before the access, locks or not.
    """

    points: Points
    holds: Points
    role: int
    code: tuple[int, int] = (0, 0)
    exact: Points = ()
    heads: Points = ()


class Stage:
    """What one traced run knows of locks around accesses and of switch points before them."""

    def __init__(self, run: RunFile, interner: Interner) -> None:
        self._interner = interner
        self._around = _outermost_acquires(run.trace)
        self._heads = _heads(run)

    def spots(self, answer: Answer) -> list[Spot]:
        """The lines of an answer, in their order."""
        return [
            Spot(
                points,
                self.holds(points),
                line.role,
                self._interner.range_of(points[0]),
                self._interner.raw_points(line.point),
                tuple(sorted({self.head(point) for point in points})),
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
                found |= {outer or self._heads.get(point, point) for outer in around or {0}}
        return tuple(sorted(found))

    def head(self, point: int) -> int:
        """The point at which a thread could last be switched before this one."""
        return self._heads.get(point, point)

    def _raw(self, index: int) -> Points:
        """The raw points of a line: all sites of it with the same operation."""
        places = self._interner.places()
        same = np.flatnonzero(places.line == places.line[index])
        return tuple(sorted({raw for at in same for raw in self._interner.raw_points(int(at))}))


def _outermost_acquires(trace: npt.NDArray[Any]) -> Mapping[int, set[int]]:
    """By point: the points of the outermost acquires that were open there; 0 for none."""
    held: dict[int, list[tuple[int, int]]] = {}
    # A lock may be released by another thread than the one that took it: Condition's are.
    around: dict[int, set[int]] = {}
    for _, cell, point, thread, _ in trace.tolist():
        if not point >> 4:
            continue  # no code of the target: a thread that is being started
        mine = held.setdefault(thread, [])
        op = point & 15
        if op == Op.ACQUIRE:
            around.setdefault(point, set()).add(mine[0][1] if mine else 0)
            mine.append((cell, point))
        elif op == Op.RELEASE:
            for each in (mine, *held.values()):
                if _forget(each, cell):
                    break
        else:
            around.setdefault(point, set()).add(mine[0][1] if mine else 0)
    return around


def _forget(held: list[tuple[int, int]], cell: int) -> bool:
    for at in range(len(held) - 1, -1, -1):
        if held[at][0] == cell:
            del held[at]
            return True
    return False


def _heads(run: RunFile) -> dict[int, int]:
    """By point: the point of the site at which its thread could last be switched before it."""
    points = {int(point) >> 4: int(point) for point in np.unique(run.trace["point"]).tolist()}
    heads = {site: head for _, site, _, head, *_ in run.counts.tolist()}
    return {
        point: points[heads[site]]
        for site, point in points.items()
        if site in heads and heads[site] in points
    }


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
