# SPDX-License-Identifier: Apache-2.0
"""An answer as it occurred in one failing run: its accesses, and the constraints between them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from unsnarl.experiments.constraints import Constraint, Event, Timeline
from unsnarl.experiments.scene import Spot


def occurrence(timeline: Timeline, spots: Sequence[Spot]) -> list[Event]:
    """The latest occurrence of the spots in their order, each in the thread of its role."""
    best: list[Event] = []
    for first in reversed(_at(timeline, spots[0].points)):
        told = _from(first, timeline, spots)
        if len(told) > len(best):
            best = told
        if len(best) == len(spots):
            break
    return best


def _from(first: Event, timeline: Timeline, spots: Sequence[Spot]) -> list[Event]:
    told, threads = [first], {spots[0].role: first.path}
    for spot in spots[1:]:
        for event in _at(timeline, spot.points, threads.get(spot.role)):
            new = spot.role not in threads and event.path in threads.values()
            if event.at > told[-1].at and not new:
                threads.setdefault(spot.role, event.path)
                told.append(event)
                break
        else:
            return told
    return told


def _at(timeline: Timeline, points: Sequence[int], path: str | None = None) -> list[Event]:
    return [e for e in timeline.events if e.point in points and path in (None, e.path)]


def told_constraints(timeline: Timeline, spots: Sequence[Spot]) -> list[Constraint]:
    """The order of the answer's accesses wherever the thread changes."""
    pairs = [pair for pair in pairwise(occurrence(timeline, spots)) if pair[0].path != pair[1].path]
    return list(timeline.constraints(pairs))
