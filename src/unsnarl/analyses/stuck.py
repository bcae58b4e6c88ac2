# SPDX-License-Identifier: Apache-2.0
"""Runs that ended because nobody could go on: a cycle of locks, a lost wake-up, a lock kept.

Nothing needs to be ranked here: the gate saw who waits for what. It becomes an answer like any
other, so that it is shown, tested and replayed like any other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from unsnarl.analyses.answer import Answer, Line
from unsnarl.model.event import Op
from unsnarl.model.graph import Graph
from unsnarl.model.report import Region
from unsnarl.model.run import Wait, in_cycle
from unsnarl.model.site import UNKNOWN_SITE, Point

PointOf = Callable[[int], Point]
# Two points that communicate in more than this share of the passing runs say nothing about a wait.
COMMON = 0.5
ENDS = ("source", "sink")
FIRST_THREAD = 0


class CellAccess(NamedTuple):
    """One of the accesses that a cell had last; `point` is a campaign-wide index."""

    thread: int
    time: int
    point: int
    cell: int


class Stuck(NamedTuple):
    """The end of one run. The points of `waits` are campaign-wide indexes.

    `latest` are the accesses that its cells had last.
    """

    graph: Graph
    waits: tuple[Wait, ...]
    latest: Sequence[CellAccess] = ()


class StuckStep(NamedTuple):
    """One line of what happened; `object` is the lock that it takes or waits for, 0 for data."""

    thread: int
    point: int
    object: int = 0


def common_edges(passing: Sequence[Graph]) -> frozenset[tuple[int, int]]:
    """The points that communicate in most passing runs."""
    counts: Counter[tuple[int, int]] = Counter()
    for graph in passing:
        ends = (graph.edges[f"{end}_point"].tolist() for end in ENDS)
        counts.update(set(zip(*ends, strict=True)))
    return frozenset(pair for pair, n in counts.items() if n > COMMON * len(passing))


def stuck_steps(
    end: Stuck, point_of: PointOf, common: Collection[tuple[int, int]] = ()
) -> list[StuckStep]:
    """A cycle of locks and joins, a lock held by who waits or has ended, or waits nobody will end.

    [] if the run has none of these. What came before a wait is in it, if it is not `common`; who
    waits for work is not.
    """
    cycle = in_cycle(end.waits)
    if cycle:
        return _cycle([wait for wait in end.waits if wait in cycle], point_of)
    held = _held_while_waiting(end.waits, point_of)
    if held:
        return held
    pairs = zip(*(end.graph.edges[f"{at}_point"].tolist() for at in ENDS), strict=True)
    rare = np.array([pair not in common for pair in pairs], dtype=bool)
    graph = Graph(end.graph.edges[rare])
    if left := _never_released(graph, end.waits, point_of):
        return left
    lost = _without_idle(graph, end.waits, point_of)
    steps = [step for wait in lost for step in _lost(graph, wait, point_of)]
    if len(steps) > len(lost):
        return steps
    return _behind(graph, lost, point_of) + _overtaken(end.latest, lost, point_of) + steps


def _without_idle(graph: Graph, waits: Sequence[Wait], point_of: PointOf) -> list[Wait]:
    """The waits that nobody will end, without those for work.

    A pool's worker that has nothing to do waits in code that is not the target's. What matters is
    the wait of whom the first thread waits for, and any before which something was changed: others
    are idle, or wait for what came of these.
    """
    lost = [wait for wait in waits if wait.owner < 0 and point_of(wait.point).site != UNKNOWN_SITE]
    last = _awaited(waits)
    is_joined = last is not None and last.thread != FIRST_THREAD
    missed = [
        wait
        for wait in lost
        if (is_joined and wait == last) or len(_lost(graph, wait, point_of)) > 1
    ]
    return missed or lost


def _awaited(waits: Sequence[Wait]) -> Wait | None:
    """The wait that keeps the first thread from going on: its own, or that of whom it waits for."""
    by_thread = {wait.thread: wait for wait in waits}
    seen: set[int] = set()
    last, thread = None, FIRST_THREAD
    while thread in by_thread and thread not in seen:
        seen.add(thread)
        last = by_thread[thread]
        thread = last.owner
    return last


def _never_released(graph: Graph, waits: Sequence[Wait], point_of: PointOf) -> list[StuckStep]:
    """A lock whose taker has gone on without releasing it, and does not wait for anything.

    Where the lock was taken, what a waiter and the taker did to the same data after that, and the
    waits. Best is what the waiter had read before the taker changed it, else any conflict.
    """
    waiting = {wait.thread for wait in waits}
    left = [
        wait
        for wait in waits
        if wait.owner >= 0
        and wait.owner not in waiting
        and point_of(wait.point).op is Op.WAIT
        and point_of(wait.taken).site != UNKNOWN_SITE
    ]
    if not left:
        return []
    first = min(left, key=lambda wait: wait.taken_time)
    timed = [(first.taken_time, StuckStep(first.owner, first.taken, first.object))]
    edges = graph.edges[np.argsort(graph.edges["sink_time"])]
    waiters = [wait.thread for wait in left if wait.object == first.object]
    ours = np.isin(edges["source_thread"], waiters) & (edges["sink_thread"] == first.owner)
    later = edges[ours & (edges["sink_time"] > first.taken_time)]
    data = [row for row in later if all(_is_data(row, end, point_of) for end in ENDS)]
    for row in (_stale(later, point_of, "sink") or data)[-1:]:
        timed += [
            (
                int(row[f"{end}_time"]),
                StuckStep(int(row[f"{end}_thread"]), int(row[f"{end}_point"])),
            )
            for end in ENDS
        ]
        # Others may wait for the same lock: this one shows why.
        first = next(wait for wait in left if wait.thread == row["source_thread"])
    ends = StuckStep(first.thread, first.point, first.object)
    return [*(step for _, step in sorted(timed)), ends]


def _cycle(waits: Sequence[Wait], point_of: PointOf) -> list[StuckStep]:
    """First who took which lock, in the order of time, then who waits for which.

    What a thread that is joined holds was taken nowhere in the source.
    """
    in_time = sorted(waits, key=lambda wait: wait.taken_time)
    taken = [wait for wait in in_time if point_of(wait.taken).site != UNKNOWN_SITE]
    return [StuckStep(wait.owner, wait.taken, wait.object) for wait in taken] + [
        StuckStep(wait.thread, wait.point, wait.object) for wait in waits
    ]


def _held_while_waiting(waits: Sequence[Wait], point_of: PointOf) -> list[StuckStep]:
    """Who took a lock and waits with it for what others have to do, then who waits for the lock."""
    holders = {wait.thread: wait for wait in waits if wait.owner < 0}
    blocked = [
        wait
        for wait in waits
        if wait.owner in holders
        and point_of(wait.point).op is Op.WAIT
        and point_of(wait.taken).site != UNKNOWN_SITE
    ]
    if not blocked:
        return []
    first = min(blocked, key=lambda wait: wait.taken_time)
    holder = holders[first.owner]
    return [
        StuckStep(first.owner, first.taken, first.object),
        StuckStep(holder.thread, holder.point, holder.object),
        *(
            StuckStep(wait.thread, wait.point, wait.object)
            for wait in blocked
            if wait.object == first.object
        ),
    ]


def _is_data(row: Any, end: str, point_of: PointOf) -> bool:
    return not point_of(int(row[f"{end}_point"])).op.is_sync


def _lost(graph: Graph, wait: Wait, point_of: PointOf) -> list[StuckStep]:
    """A lost wake-up: what the waiter last read, who changed that before it began to wait."""
    edges = graph.edges
    mine = edges[(edges["source_thread"] == wait.thread) & (edges["sink_thread"] != wait.thread)]
    before = [
        step
        for row in _stale(mine, point_of, "source")[-1:]
        for step in (
            StuckStep(wait.thread, int(row["source_point"])),
            StuckStep(int(row["sink_thread"]), int(row["sink_point"])),
        )
    ]
    return [*before, StuckStep(wait.thread, wait.point, wait.object)]


def _overtaken(
    latest: Sequence[CellAccess], waits: Sequence[Wait], point_of: PointOf
) -> list[StuckStep]:
    """What a thread looked at last before its wait, if another one changed that afterwards.

    Passing runs have these two as well, but with the wait in between: it was woken up. And of
    several readers only the last one communicates with the write.
    """
    waiting = {wait.thread for wait in waits}
    reads: dict[tuple[int, int], CellAccess] = {}
    pairs: dict[tuple[int, int], tuple[CellAccess, CellAccess]] = {}
    for one in sorted(latest, key=lambda one: one.time):
        op = point_of(one.point).op
        if one.thread in waiting:
            pairs.pop((one.thread, one.cell), None)
            reads.pop((one.thread, one.cell), None)
            if op is Op.READ:
                reads[one.thread, one.cell] = one
        for key, read in list(reads.items()) if op is Op.WRITE else ():
            if read.cell == one.cell and read.thread != one.thread:
                pairs.setdefault(key, (read, one))
    last = max(pairs.values(), key=lambda pair: pair[0].time, default=())
    return [StuckStep(one.thread, one.point) for one in last]


def _stale(edges: Any, point_of: PointOf, end: str) -> list[Any]:
    """Reads of what was changed later, in the order of one end of these edges.

    There are edges from a read to a write because reads may be sources, too (docs/adr/0007).
    """
    return [
        row
        for row in edges[np.argsort(edges[f"{end}_time"])]
        if point_of(int(row["source_point"])).op is Op.READ
        and point_of(int(row["sink_point"])).op is Op.WRITE
    ]


def _behind(graph: Graph, waits: Sequence[Wait], point_of: PointOf) -> list[StuckStep]:
    """What a thread that waits has asked for last, and what another one had asked for before.

    Both are calls of one object: a task of a pool is behind that of another thread. The wait itself
    is no request.
    """
    lines = {wait.thread: point_of(wait.point).site.line for wait in waits}
    edges = graph.edges[np.argsort(graph.edges["sink_time"])]

    def is_behind(row: Any) -> bool:
        source, sink = (point_of(int(row[f"{end}_point"])) for end in ENDS)
        waits_at = lines.get(int(row["sink_thread"]), sink.site.line)
        is_other = row["source_thread"] != row["sink_thread"] and source != sink
        return is_other and source.op is sink.op is Op.CALL and sink.site.line != waits_at

    last = [row for row in edges if is_behind(row)][-1:]
    return [
        StuckStep(int(row[f"{end}_thread"]), int(row[f"{end}_point"]))
        for row in last
        for end in ENDS
    ]


def stuck_answer(
    ends: Sequence[Stuck],
    point_of: PointOf,
    method: str,
    passing: int,
    stood_still: int = 0,
    *,
    common: Collection[tuple[int, int]] = (),
) -> Answer | None:
    """How most of the failing runs got stuck; None if most did not.

    Scored as an edge of all failing and no passing runs; of `passing` ones some may have stood
    still there, too, and gone on by luck when a time limit ran out.
    """
    ways = [stuck_steps(end, point_of, common) for end in ends]
    counted = Counter(tuple(step.point for step in steps) for steps in ways)
    first = max(counted, key=lambda points: counted[points], default=())
    if not first:
        return None
    same = [at for at, steps in enumerate(ways) if tuple(step.point for step in steps) == first]
    steps = ways[same[0]]
    roles = _roles(steps)
    # B (Recon 4.1.1) of an edge that all failing and no passing runs have: 1 / (1 / (passing + 1)).
    score = passing + 1.0
    return Answer(
        method=method,
        score=score,
        # With B, reports find the kind from the points: a wait makes it a deadlock
        # (reports/build.py).
        features={"B": score},
        lines=tuple(_line(at, step, roles, len(first)) for at, step in enumerate(steps)),
        runs=tuple(same),
        passing=stood_still,
        threads={at: {role: t for t, role in _roles(ways[at]).items()} for at in same},
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
