# SPDX-License-Identifier: Apache-2.0
"""What experiments proved, as a report shows it: explanation, orders, nearest passing run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from unsnarl.analyses.answer import Line
from unsnarl.model.event import Op
from unsnarl.model.report import Finding, FindingPoint, PassingRun
from unsnarl.model.sources import Sources
from unsnarl.reports.calls import with_calls
from unsnarl.reports.deadlock import run_names
from unsnarl.reports.explain import describe_lines, with_failing_lines
from unsnarl.reports.facts import ExplainedEvent, FailingRun, Points, ProofFacts
from unsnarl.reports.folding import folded, without_idle, without_unrelated
from unsnarl.reports.patterns import FAIL, NO_EVENTS, is_data
from unsnarl.reports.starts import with_start
from unsnarl.reports.waits import with_reasons
from unsnarl.reports.ways import with_ways


def with_proof(
    finding: Finding,
    proof: ProofFacts,
    run: FailingRun,
    points: Points,
    sources: Sources,
) -> Finding:
    """The finding with its explanation: the events that matter and the failing lines."""
    names = run_names(run, points, sources, captured_names(proof.events, run))
    described = _described(proof.events, names, points, sources)
    shown = _variables(described, proof.events)
    if any(event.pending for event in proof.events):
        described = without_idle(described)
        described = with_ways(with_reasons(described, run, names, points, sources), sources.line)
    explained = with_failing_lines(described, run, sources)
    explained = without_unrelated(explained, finding.variables)
    ordered = {id(described[at]) for pair in proof.orders for at in pair}
    explained = with_calls(folded(explained, ordered, sources.call), sources.call)
    explained = with_start(explained, sources.text, sources.line)
    position = _positions(explained)
    orders = [(position[one], position[other]) for one, other in proof.orders]
    explained = _with_failing_access(explained)
    return replace(
        finding,
        variables=_about(finding, explained, orders),
        explanation=tuple(explained),
        orders=tuple(orders),
        nearest=_renamed(_passing(proof, position, names, points, sources), proof, shown),
    )


def captured_names(events: Iterable[ExplainedEvent], run: FailingRun) -> dict[int, str]:
    """What the program calls the locks that its threads wait for, where a replay saw it."""
    # Of a lock in an array or a dictionary, with its place: it is this one, not all of them.
    names = {
        one.path: one.captured.variable + one.captured.element
        for one in events
        if one.pending and one.captured
    }
    found = {wait.object: names.get(run.threads[wait.thread].path, "") for wait in run.waits}
    return {lock: name for lock, name in found.items() if name}


def _with_failing_access(explained: Sequence[FindingPoint]) -> list[FindingPoint]:
    """What a thread did last is no set-up on the line that fails: it has the value."""
    failing = {(point.file, point.line) for point in explained if point.op == FAIL}
    return [
        replace(point, setup=False) if (point.file, point.line) in failing else point
        for point in explained
    ]


def _about(
    finding: Finding, explained: Sequence[FindingPoint], orders: Iterable[tuple[int, int]]
) -> tuple[str, ...]:
    """What the finding is about, and what else two threads were proved to conflict on."""
    pairs = ((explained[before - 1], explained[after - 1]) for before, after in orders)
    proved = [
        one.variable for one, other in pairs if is_data(one) and one.variable == other.variable
    ]
    return tuple(dict.fromkeys(name for name in (*finding.variables, *proved) if name))


def _positions(explained: Sequence[FindingPoint]) -> dict[int, int]:
    """Each event's position in the explanation, from 1: the failing line may be between them."""
    events = [at for at, point in enumerate(explained, 1) if point.op not in NO_EVENTS]
    return dict(enumerate(events))


def _passing(
    proof: ProofFacts,
    position: dict[int, int],
    names: dict[int, str],
    points: Points,
    sources: Sources,
) -> PassingRun | None:
    if proof.passing is None:
        return None
    # Threads keep the roles of the failing run, so that both can be compared.
    before, after = proof.passing.moved
    events = proof.passing.events
    described = _described(events, names, points, sources, _roles(proof.events))
    moved = (position[before], position[after])
    return PassingRun(tuple(described), moved, proof.passing.differences)


def _renamed(
    passing: PassingRun | None, proof: ProofFacts, shown: Mapping[tuple[str, int], str]
) -> PassingRun | None:
    """With the names of the failing run: the same access is called the same."""
    if passing is None or proof.passing is None:
        return passing
    both = zip(passing.points, proof.passing.events, strict=True)
    points = [
        replace(point, variable=shown.get((one.path, one.point), point.variable))
        for point, one in both
    ]
    return replace(passing, points=tuple(points))


def _variables(
    described: Sequence[FindingPoint], events: Sequence[ExplainedEvent]
) -> dict[tuple[str, int], str]:
    """What each access's variable is called, so that it is called the same in another run."""
    both = zip(described, events, strict=True)
    return {(one.path, one.point): point.variable for point, one in both if is_data(point)}


def _roles(events: Sequence[ExplainedEvent]) -> dict[str, int]:
    return {path: at for at, path in enumerate(dict.fromkeys(one.path for one in events))}


def _described(
    events: Sequence[ExplainedEvent],
    names: dict[int, str],
    points: Points,
    sources: Sources,
    roles: dict[str, int] | None = None,
) -> list[FindingPoint]:
    """Events as points. What most of them touch is what the explanation is about."""
    roles = {**_roles(events)} if roles is None else roles
    cells = Counter(one.cell for one in events if not points.point(one.point).op.is_sync)
    about = cells.most_common(1)[0][0] if cells else 0
    lines = [
        _line(at, one, roles.setdefault(one.path, len(roles)), about)
        for at, one in enumerate(events)
    ]
    paths = {anchor: path for path, anchor in roles.items()}
    captured = [one.captured for one in events]
    described = describe_lines(lines, paths, captured, points, sources)
    shared = _shared_names(described, events)
    return [
        _named(replace(point, variable=shared.get(one.cell, point.variable)), one, names)
        for point, one in zip(described, events, strict=True)
    ]


def _shared_names(
    described: Sequence[FindingPoint], events: Sequence[ExplainedEvent]
) -> dict[int, str]:
    """One name for what several accesses touch, whatever their functions call it: the last one.

    A name with its class is understood everywhere.
    """
    found: dict[int, list[str]] = {}
    for point, event in zip(described, events, strict=True):
        if is_data(point) and point.variable and event.cell:
            found.setdefault(event.cell, []).append(point.variable)
    return {
        cell: next((name for name in own if "." in name), own[-1])
        for cell, own in found.items()
        if len(set(own)) > 1
    }


def _line(at: int, event: ExplainedEvent, anchor: int, about: int) -> Line:
    return Line(
        point=event.point,
        region="body",
        role=anchor + 1,
        confidence=1.0,
        time=float(at + 1),
        separation=1.0,
        same_cell=1.0 if event.cell == about else 0.0,
        anchor=anchor,
    )


def _named(point: FindingPoint, event: ExplainedEvent, names: dict[int, str]) -> FindingPoint:
    """Locks of a deadlock keep the names they have there; an acquire that never returned waits."""
    changes: dict[str, Any] = {"op": Op.WAIT.word} if event.pending else {}
    name = names.get(event.cell) if Op[point.op.upper()].is_sync else None
    changes |= {"due": event.due, "setup": event.setup}
    return replace(point, **changes, **({"variable": name} if name else {}))
