# SPDX-License-Identifier: Apache-2.0
"""The points of a deadlock: each waiting thread, what it waits for and what it holds."""

from __future__ import annotations

from collections.abc import Sequence

from unsnarl.model.finding import FindingPoint, Region
from unsnarl.model.run import Wait
from unsnarl.reports.facts import FailingRun, Points
from unsnarl.reports.names import variable_name
from unsnarl.reports.patterns import WAIT
from unsnarl.reports.source import Sources


def cycle_points(run: FailingRun, points: Points, sources: Sources) -> tuple[FindingPoint, ...]:
    """One point per thread of the cycle; all waiting threads if there is no cycle."""
    waits = in_cycle(run.waits) or run.waits
    names = _object_names(run.waits, points, sources)
    paths = {thread.index: thread.path for thread in run.threads}
    told = []
    for role, wait in enumerate(waits, 1):
        site = points.point(wait.point).site
        told.append(
            FindingPoint(
                file=sources.relative(site.file),
                line=site.line,
                function=site.function,
                thread=paths.get(wait.thread, "?"),
                role=role,
                op=WAIT,
                variable=names[wait.object],
                region=_region(role, len(waits)),
                confidence=1.0,
                locks=_held(wait.thread, run.waits, names),
                text=sources.line(site.file, site.line),
                time=float(role),
            )
        )
    return tuple(told)


def in_cycle(waits: Sequence[Wait]) -> tuple[Wait, ...]:
    """The waits that form a cycle of owners, in its order, from the lowest thread on."""
    by_thread = {wait.thread: wait for wait in waits}
    for start in sorted(by_thread):
        path = [by_thread[start]]
        while path[-1].owner in by_thread and len(path) <= len(waits):
            if path[-1].owner == start:
                return tuple(path)
            path.append(by_thread[path[-1].owner])
    return ()


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


def _region(role: int, count: int) -> Region:
    if role == 1:
        return "source"
    return "sink" if role == count else "body"
