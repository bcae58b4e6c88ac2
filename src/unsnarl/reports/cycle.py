# SPDX-License-Identifier: Apache-2.0
"""The names of the locks in a deadlock: who took what, who waits for what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from unsnarl.analyses.stuck import Stuck, stuck_steps
from unsnarl.model.run import Wait, in_cycle
from unsnarl.reports.facts import FailingRun, Points
from unsnarl.reports.names import variable_name
from unsnarl.reports.source import Sources


class Named(NamedTuple):
    """What a line about locks says: the lock, and those that its thread holds."""

    variable: str
    locks: tuple[str, ...] = ()


def lock_names(run: FailingRun, points: Points, sources: Sources) -> list[Named]:
    """For the lines of a run that got stuck; no variable where a line is about data."""
    steps = stuck_steps(Stuck(run.graph, run.waits), points.point)
    waits = in_cycle(run.waits)
    names = object_names(waits or run.waits, points, sources)
    waiting = {(wait.thread, wait.point) for wait in waits}
    return [
        Named(
            names.get(step.object, ""),
            _held(step.thread, waits, names) if (step.thread, step.point) in waiting else (),
        )
        for step in steps
    ]


def object_names(waits: Sequence[Wait], points: Points, sources: Sources) -> dict[int, str]:
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
