# SPDX-License-Identifier: Apache-2.0
"""The names of the locks in a deadlock: who took what, who waits for what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from unsnarl.analyses.answer import Line
from unsnarl.analyses.stuck import Stuck, stuck_steps
from unsnarl.model.event import Op
from unsnarl.model.run import Wait, in_cycle
from unsnarl.model.sources import Sources
from unsnarl.reports.facts import FailingRun, Points
from unsnarl.reports.names import variable_name
from unsnarl.reports.waits import call_of

NOTHING: Mapping[int, str] = MappingProxyType({})


class LockNames(NamedTuple):
    """What a line about locks says: the lock, and those that its thread holds."""

    variable: str
    locks: tuple[str, ...] = ()


def lock_names(
    lines: Sequence[Line],
    run: FailingRun,
    points: Points,
    sources: Sources,
    captured: Mapping[int, str] = NOTHING,
) -> list[LockNames]:
    """For the lines of a run that got stuck; no variable where a line is about data."""
    steps = stuck_steps(Stuck(run.graph, run.waits), points.point)
    names = run_names(run, points, sources, captured)
    waiting = {(wait.thread, wait.point) for wait in run.waits}
    found = []
    for line in lines:
        # An answer may leave out steps of this run: what came before a wait in passing runs, too.
        step = next((one for one in steps if one.point == line.point), None)
        if step is None:
            found.append(LockNames(""))
            continue
        steps.remove(step)
        is_waiting = (step.thread, step.point) in waiting
        held = _held(step.thread, run.waits, names) if is_waiting else ()
        found.append(LockNames(names.get(step.object, ""), held))
    return found


def run_names(
    run: FailingRun, points: Points, sources: Sources, captured: Mapping[int, str] = NOTHING
) -> dict[int, str]:
    """A name for each object that threads of a run that got stuck wait for.

    What a replay saw (`captured`) says more than what a line calls it.
    """
    return object_names(in_cycle(run.waits) or run.waits, points, sources, captured)


def object_names(
    waits: Sequence[Wait], points: Points, sources: Sources, captured: Mapping[int, str] = NOTHING
) -> dict[int, str]:
    """A name for each object waited for.

    Two locks often go by the same words (`with account.lock`); then they are numbered.
    """
    names: dict[int, str] = {}
    for wait in waits:
        own = captured.get(wait.object, "") if wait.owner >= 0 else ""
        names.setdefault(wait.object, own or _name(wait, points, sources))
    # What nobody owns is a lock of the library's own, made for this wait: not the object itself.
    owned = {wait.object for wait in waits if wait.owner >= 0}
    namesakes: dict[str, list[int]] = {}
    for thing, name in names.items():
        namesakes.setdefault(name, []).extend([thing] if thing in owned and name else [])
    numbered = {
        thing: f"{name} #{number}"
        for name, things in namesakes.items()
        for number, thing in enumerate(things, 1)
        if len(things) > 1
    }
    return names | numbered


def _name(wait: Wait, points: Points, sources: Sources) -> str:
    """What is waited for: the lock as written, or the object of a library; of a thread's end ""."""
    point = points.point(wait.point)
    if point.op is Op.JOIN:
        return ""
    return call_of(point.site, sources)[1] or variable_name(point, sources)


def _held(thread: int, waits: Sequence[Wait], names: dict[int, str]) -> tuple[str, ...]:
    held = [names.get(wait.object, "") for wait in waits if wait.owner == thread]
    return tuple(dict.fromkeys(filter(None, held)))
