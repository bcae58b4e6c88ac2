# SPDX-License-Identifier: Apache-2.0
"""Runs that ended because nobody could go on: a cycle of locks, or a wake-up that was lost.

Nothing needs to be ranked here: the gate saw who waits for what. It becomes an answer like any
other, so that it is told, tested and replayed like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from unsnarl.analyses.answer import Answer, Line
from unsnarl.model.finding import Region
from unsnarl.model.graph import Graph
from unsnarl.model.run import Wait, in_cycle
from unsnarl.model.site import Op, Point

PointOf = Callable[[int], Point]


class Stuck(NamedTuple):
    """The end of one run. The points of `waits` are campaign-wide indexes."""

    graph: Graph
    waits: tuple[Wait, ...]


class StuckStep(NamedTuple):
    """One line of the story; `object` is the lock that it takes or waits for, 0 for data."""

    thread: int
    point: int
    object: int = 0


def stuck_steps(end: Stuck, point_of: PointOf) -> list[StuckStep]:
    """A cycle of locks, or the waits that nobody will end; [] if the run has neither."""
    waits = in_cycle(end.waits)
    if waits:
        return _cycle(waits)
    lost = [wait for wait in end.waits if wait.owner < 0]
    return [step for wait in lost for step in _lost(end.graph, wait, point_of)]


def _cycle(waits: Sequence[Wait]) -> list[StuckStep]:
    """First who took which lock, in the order of time, then who waits for which."""
    known = [wait for wait in sorted(waits, key=lambda wait: wait.taken_time) if wait.taken]
    taken = [StuckStep(wait.owner, wait.taken, wait.object) for wait in known]
    place = {wait.owner: at for at, wait in enumerate(known)}
    last = sorted(waits, key=lambda wait: place.get(wait.thread, -1))
    return taken + [StuckStep(wait.thread, wait.point, wait.object) for wait in last]


def _lost(graph: Graph, wait: Wait, point_of: PointOf) -> list[StuckStep]:
    """A lost wake-up: what the waiter last read, who changed that before it began to wait."""
    edges = graph.edges
    mine = edges[(edges["source_thread"] == wait.thread) & (edges["sink_thread"] != wait.thread)]
    stale = [
        row
        for row in mine[np.argsort(mine["source_time"])]
        if point_of(int(row["source_point"])).op is Op.READ
        and point_of(int(row["sink_point"])).op is Op.WRITE
    ]
    before = [
        step
        for row in stale[-1:]
        for step in (
            StuckStep(wait.thread, int(row["source_point"])),
            StuckStep(int(row["sink_thread"]), int(row["sink_point"])),
        )
    ]
    return [*before, StuckStep(wait.thread, wait.point, wait.object)]


def stuck_answer(
    ends: Sequence[Stuck], point_of: PointOf, method: str, passing: int
) -> Answer | None:
    """How the failing runs got stuck, as the first one did; None if it did not.

    Scored as an edge of all failing and no passing runs.
    """
    stories = [stuck_steps(end, point_of) for end in ends]
    if not stories or not stories[0]:
        return None
    told = [step.point for step in stories[0]]
    same = [at for at, steps in enumerate(stories) if [step.point for step in steps] == told]
    roles = _roles(stories[0])
    score = passing + 1.0
    return Answer(
        method=method,
        score=score,
        features={"B": score},
        lines=tuple(_line(at, step, roles, len(told)) for at, step in enumerate(stories[0])),
        runs=tuple(same),
        passing=0,
        threads={at: {role: t for t, role in _roles(stories[at]).items()} for at in same},
        is_stuck=True,
    )


def _roles(steps: Sequence[StuckStep]) -> dict[int, int]:
    """By thread its anchor: threads are numbered as they come."""
    return {thread: at for at, thread in enumerate(dict.fromkeys(step.thread for step in steps))}


def _line(at: int, step: StuckStep, roles: dict[int, int], count: int) -> Line:
    region: Region = "body"
    if at in (0, count - 1):
        region = "source" if at == 0 else "sink"
    return Line(
        point=step.point,
        region=region,
        role=roles[step.thread] + 1,
        confidence=1.0,
        time=float(at + 1),
        separation=1.0,
        same_cell=0.0 if step.object else 1.0,
        anchor=roles[step.thread],
    )
