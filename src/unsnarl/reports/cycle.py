# SPDX-License-Identifier: Apache-2.0
"""The points of a deadlock: who took what, who waits for what; or the wake-up that was lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from unsnarl.model.finding import FindingPoint, Region
from unsnarl.model.run import Wait, in_cycle
from unsnarl.model.site import Op
from unsnarl.reports.facts import FailingRun, Points
from unsnarl.reports.names import variable_name
from unsnarl.reports.source import Sources


class _Step(NamedTuple):
    """One line of the story, before it is put into words."""

    thread: int
    point: int
    variable: str
    locks: tuple[str, ...] = ()


def deadlock_points(run: FailingRun, points: Points, sources: Sources) -> tuple[FindingPoint, ...]:
    """A cycle of locks, or a wait that nobody will end; () if the run has neither."""
    waits = in_cycle(run.waits)
    if waits:
        steps = _cycle(waits, _object_names(waits, points, sources))
    else:
        steps = [step for wait in run.waits if wait.owner < 0 for step in _lost(run, wait, points)]
    paths = {thread.index: thread.path for thread in run.threads}
    roles: dict[int, int] = {}
    told = []
    for place, step in enumerate(steps, 1):
        point = points.point(step.point)
        told.append(
            FindingPoint(
                file=sources.relative(point.site.file),
                line=point.site.line,
                function=point.site.function,
                thread=paths.get(step.thread, "?"),
                role=roles.setdefault(step.thread, len(roles) + 1),
                op=point.op.word,
                variable=step.variable or variable_name(point, sources),
                region=_region(place, len(steps)),
                confidence=1.0,
                locks=step.locks,
                text=sources.line(point.site.file, point.site.line),
                time=float(place),
            )
        )
    return tuple(told)


def _cycle(waits: Sequence[Wait], names: dict[int, str]) -> list[_Step]:
    """First who took which lock, in the order of time, then who waits for which."""
    known = [wait for wait in sorted(waits, key=lambda wait: wait.taken_time) if wait.taken]
    taken = [_Step(wait.owner, wait.taken, names[wait.object]) for wait in known]
    place = {wait.owner: at for at, wait in enumerate(known)}
    return taken + [
        _Step(w.thread, w.point, names[w.object], _held(w.thread, waits, names))
        for w in sorted(waits, key=lambda wait: place.get(wait.thread, -1))
    ]


def _lost(run: FailingRun, wait: Wait, points: Points) -> list[_Step]:
    """A lost wake-up: what the waiter last read, who changed that before it began to wait."""
    edges = run.graph.edges
    mine = edges[(edges["source_thread"] == wait.thread) & (edges["sink_thread"] != wait.thread)]
    stale = [
        row
        for row in mine[np.argsort(mine["source_time"])]
        if points.point(int(row["source_point"])).op is Op.READ
        and points.point(int(row["sink_point"])).op is Op.WRITE
    ]
    before = [
        step
        for row in stale[-1:]
        for step in (
            _Step(wait.thread, int(row["source_point"]), ""),
            _Step(int(row["sink_thread"]), int(row["sink_point"]), ""),
        )
    ]
    return [*before, _Step(wait.thread, wait.point, "")]


def _object_names(waits: Sequence[Wait], points: Points, sources: Sources) -> dict[int, str]:
    """A name for each object waited for, told apart where two have the same.

    Two locks are often reached by the same words (`with account.lock`); then they are numbered.
    """
    names: dict[int, str] = {}
    for wait in waits:
        names.setdefault(wait.object, variable_name(points.point(wait.point), sources))
    namesakes: dict[str, list[int]] = {}
    for thing, name in names.items():
        namesakes.setdefault(name, []).append(thing)
    return {
        thing: f"{name} #{things.index(thing) + 1}" if len(things) > 1 else name
        for name, things in namesakes.items()
        for thing in things
    }


def _held(thread: int, waits: Sequence[Wait], names: dict[int, str]) -> tuple[str, ...]:
    held = [names[wait.object] for wait in waits if wait.owner == thread]
    return tuple(dict.fromkeys(held))


def _region(place: int, count: int) -> Region:
    if place == 1:
        return "source"
    return "sink" if place == count else "body"
