# SPDX-License-Identifier: Apache-2.0
"""From a hypothesis to an answer: its accesses in the order in which they mostly happened."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from unsnarl.analyses.answer import Answer, Line
from unsnarl.analyses.joined.conflict_cycles import SHAPE as CYCLE
from unsnarl.analyses.joined.hypotheses import Access, Hypothesis, Occurrence
from unsnarl.model.evidence import Comparison
from unsnarl.model.report import Region

METHOD = "joined"
SOURCE_ANCHOR, SINK_ANCHOR = 0, 1


class ShownAccess(NamedTuple):
    """An access as it is shown: the line's point, the access's own, and whose it is."""

    point: int
    shown: int
    role: int


Shown = tuple[tuple[int, int], ...]  # points and roles


def answer(one: Hypothesis, shown_by: Hypothesis, comparison: Comparison) -> Answer:
    """The answer for a hypothesis; `shown_by` is it, or what completes it."""
    accesses = _accesses(shown_by)
    # Lines and threads come from what is shown, so runs without that cannot be among the answer's.
    runs = sorted(run for run in one.occurrences if run in shown_by.occurrences)
    return Answer(
        method=METHOD,
        score=one.score,
        features={
            "jaccard": one.jaccard,
            "failed": float(len(one.occurrences)),
            "passed": float(one.passing),
            "end": one.end,
        },
        lines=_lines(accesses, one, shown_by, comparison),
        runs=tuple(runs),
        passing=one.passing,
        threads={run: _threads(shown_by.occurrences[run], accesses) for run in runs},
    )


def shown(one: Hypothesis) -> Shown:
    """What distinguishes two hypotheses for a reader."""
    return tuple((access.point, access.role) for access in _accesses(one))


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


def _accesses(one: Hypothesis) -> list[ShownAccess]:
    """The accesses in time order; in a cycle one access may be the end of both conflicts."""
    occurrence = next(iter(one.occurrences.values()))
    roles: dict[int, int] = {}
    accesses: list[ShownAccess] = []
    for at in _in_time(one):
        thread, _, point, own = occurrence[at]
        role = roles.setdefault(thread, len(roles) + 1)
        if one.shape != CYCLE or (point, role) not in [(s.point, s.role) for s in accesses]:
            accesses.append(ShownAccess(point, own, role))
    return accesses


def _in_time(one: Hypothesis) -> list[int]:
    """The indexes of its accesses in the order that they had in most of the runs."""
    # Not by median times: in a loop runs fail in different rounds, and two reads of one function
    # came in the wrong order (docs/adr/0018).
    orders: Counter[tuple[int, ...]] = Counter()
    for occurrence in one.occurrences.values():
        times = [access.time for access in occurrence]
        orders[tuple(sorted(range(len(times)), key=times.__getitem__))] += 1
    best = max(orders.values())
    # Of equally frequent orders the same one every time.
    return list(min(order for order, count in orders.items() if count == best))


def _lines(
    accesses: list[ShownAccess], one: Hypothesis, shown_by: Hypothesis, comparison: Comparison
) -> tuple[Line, ...]:
    own = set(one.points)
    share = len(shown_by.occurrences.keys() & one.occurrences.keys()) / len(one.occurrences)
    failed = len(one.occurrences) / len(comparison.failing)
    separation = failed - one.passing / max(len(comparison.passing), 1)
    last = accesses[-1].role
    source = max(at for at, access in enumerate(accesses) if access.role != last)
    return tuple(
        Line(
            point=access.shown,
            region=_region(at, source, len(accesses) - 1),
            role=access.role,
            confidence=1.0 if access.point in own else share,
            time=float(at),
            separation=separation,
            same_cell=1.0 if one.shape != CYCLE and access.point in own else 0.0,
            anchor=SINK_ANCHOR if access.role == last else SOURCE_ANCHOR,
        )
        for at, access in enumerate(accesses)
    )


def _region(at: int, source: int, sink: int) -> Region:
    if at == sink:
        return "sink"
    if at == source:
        return "source"
    return "prefix" if at < source else "body"


def _threads(occurrence: Occurrence, accesses: list[ShownAccess]) -> dict[int, int]:
    """The thread behind each anchor; the points of their lines distinguish the roles."""
    sink = _of_role(occurrence, accesses[-1])
    others = [access.thread for access in occurrence if access.thread != sink.thread]
    return {SOURCE_ANCHOR: others[0], SINK_ANCHOR: sink.thread}


def _of_role(occurrence: Occurrence, last: ShownAccess) -> Access:
    """The access of a run that is shown last: the latest at its line."""
    there = [one for one in occurrence if one.point == last.point]
    return max(there or occurrence, key=lambda one: one.time)
