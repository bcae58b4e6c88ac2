# SPDX-License-Identifier: Apache-2.0
"""What experiments proved, told: the explanation, its orders, the nearest passing run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from unsnarl.analyses.answer import Line
from unsnarl.model.finding import FindingPoint, PassingRun
from unsnarl.model.run import in_cycle
from unsnarl.model.site import Op
from unsnarl.reports.cycle import object_names
from unsnarl.reports.details import CountedFinding
from unsnarl.reports.facts import FailingRun, Points, ProofFacts, ToldEvent
from unsnarl.reports.patterns import FAIL
from unsnarl.reports.source import Sources
from unsnarl.reports.told import tell_points, with_failing_line


def with_proof(
    finding: CountedFinding,
    proof: ProofFacts,
    run: FailingRun,
    points: Points,
    sources: Sources,
) -> CountedFinding:
    """The finding with its explanation: the events that matter and the failing line."""
    names = object_names(in_cycle(run.waits) or run.waits, points, sources)
    told = _told(proof.events, names, points, sources)
    explained = with_failing_line(told, run.failure, sources)
    place = _places(explained)
    return replace(
        finding,
        explanation=tuple(explained),
        orders=tuple((place[one], place[other]) for one, other in proof.orders),
        nearest=_passing(proof, place, names, points, sources),
    )


def _places(explained: Sequence[FindingPoint]) -> dict[int, int]:
    """By event its place in the explanation, from 1 on: the failing line came between them."""
    events = [at for at, point in enumerate(explained, 1) if point.op != FAIL]
    return dict(enumerate(events))


def _passing(
    proof: ProofFacts,
    place: dict[int, int],
    names: dict[int, str],
    points: Points,
    sources: Sources,
) -> PassingRun | None:
    if proof.passing is None:
        return None
    before, after = proof.passing.moved
    told = _told(proof.passing.events, names, points, sources, _roles(proof.events))
    moved = (place[before], place[after])
    return PassingRun(tuple(told), moved, proof.passing.differences)


def _roles(events: Sequence[ToldEvent]) -> dict[str, int]:
    return {path: at for at, path in enumerate(dict.fromkeys(one.path for one in events))}


def _told(
    events: Sequence[ToldEvent],
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
    told = tell_points(lines, paths, [one.captured for one in events], points, sources)
    return [_named(point, one, names) for point, one in zip(told, events, strict=True)]


def _line(at: int, event: ToldEvent, anchor: int, about: int) -> Line:
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


def _named(point: FindingPoint, event: ToldEvent, names: dict[int, str]) -> FindingPoint:
    """A lock of a deadlock is called what the deadlock calls it; one never got is waited for."""
    changes = {"op": Op.WAIT.word} if event.pending else {}
    name = names.get(event.cell) if Op[point.op.upper()].is_sync else None
    return replace(point, **changes, **({"variable": name} if name else {}))
