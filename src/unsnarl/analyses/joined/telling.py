# SPDX-License-Identifier: Apache-2.0
"""From a hypothesis to an answer: its accesses in the order in which they mostly happened."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from unsnarl.analyses.answer import Answer, Line
from unsnarl.analyses.joined.cycles import SHAPE as CYCLE
from unsnarl.analyses.joined.hypotheses import Access, Hypothesis, Occurrence
from unsnarl.model.evidence import Comparison
from unsnarl.model.finding import Region

METHOD = "joined"
SOURCE_ANCHOR, SINK_ANCHOR = 0, 1


class Step(NamedTuple):
    """An access as it is shown: the line's point, the access's own, and whose it is."""

    point: int
    shown: int
    role: int


Shown = tuple[tuple[int, int], ...]  # points and roles


def answer(one: Hypothesis, told: Hypothesis, comparison: Comparison) -> Answer:
    """The answer for a hypothesis; `told` shows it, perhaps with what completes it."""
    steps = _steps(told)
    runs = sorted(run for run in one.occurrences if run in told.occurrences)
    return Answer(
        method=METHOD,
        score=one.score,
        features={
            "jaccard": one.jaccard,
            "failed": float(len(one.occurrences)),
            "passed": float(one.passing),
            "end": one.end,
        },
        lines=_lines(steps, one, told, comparison),
        runs=tuple(runs),
        passing=one.passing,
        threads={run: _threads(told.occurrences[run], steps) for run in runs},
    )


def shown(one: Hypothesis) -> Shown:
    """What tells two hypotheses apart for a reader."""
    return tuple((step.point, step.role) for step in _steps(one))


def is_part(lines: Shown, other: Shown) -> bool:
    """Whether the other shows these lines too: all of them, or these two in this order."""
    if len(lines) != 2:
        return lines == other
    first, second = lines
    return any(
        (here[0], there[0]) == (first[0], second[0]) and here[1] != there[1]
        for at, here in enumerate(other)
        for there in other[at + 1 :]
    )


def _steps(one: Hypothesis) -> list[Step]:
    """The accesses in time order; in a cycle one access may be the end of both conflicts."""
    places = _in_time(one)
    occurrence = next(iter(one.occurrences.values()))
    roles: dict[int, int] = {}
    steps: list[Step] = []
    for at in places:
        access = occurrence[at]
        role = roles.setdefault(access.thread, len(roles) + 1)
        step = Step(access.point, access.shown, role)
        if one.shape != CYCLE or (step.point, role) not in [(s.point, s.role) for s in steps]:
            steps.append(step)
    return steps


def _in_time(one: Hypothesis) -> list[int]:
    """The places of its accesses in the order that they had in most of the runs."""
    orders: Counter[tuple[int, ...]] = Counter()
    for occurrence in one.occurrences.values():
        times = [access.time for access in occurrence]
        orders[tuple(sorted(range(len(times)), key=times.__getitem__))] += 1
    best = max(orders.values())
    return list(min(order for order, count in orders.items() if count == best))


def _lines(
    steps: list[Step], one: Hypothesis, told: Hypothesis, comparison: Comparison
) -> tuple[Line, ...]:
    own = set(one.points)
    share = len(told.occurrences.keys() & one.occurrences.keys()) / len(one.occurrences)
    failed = len(one.occurrences) / len(comparison.failing)
    separation = failed - one.passing / max(len(comparison.passing), 1)
    last = steps[-1].role
    source = max(at for at, step in enumerate(steps) if step.role != last)
    return tuple(
        Line(
            point=step.shown,
            region=_region(at, source, len(steps) - 1),
            role=step.role,
            confidence=1.0 if step.point in own else share,
            time=float(at),
            separation=separation,
            same_cell=1.0 if one.shape != CYCLE and step.point in own else 0.0,
            anchor=SINK_ANCHOR if step.role == last else SOURCE_ANCHOR,
        )
        for at, step in enumerate(steps)
    )


def _region(at: int, source: int, sink: int) -> Region:
    if at == sink:
        return "sink"
    if at == source:
        return "source"
    return "prefix" if at < source else "body"


def _threads(occurrence: Occurrence, steps: list[Step]) -> dict[int, int]:
    """The thread behind each anchor; roles are told apart by the points of their lines."""
    sink = _of_role(occurrence, steps[-1])
    others = [access.thread for access in occurrence if access.thread != sink.thread]
    return {SOURCE_ANCHOR: others[0], SINK_ANCHOR: sink.thread}


def _of_role(occurrence: Occurrence, step: Step) -> Access:
    """The access of a run that stands at the last step: the latest at its line."""
    there = [access for access in occurrence if access.point == step.point]
    return max(there or occurrence, key=lambda access: access.time)
