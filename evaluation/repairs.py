# SPDX-License-Identifier: Apache-2.0
"""Does a simulated fix name the true region, or the true order?

The truth has points, a fix has source lines. A true point lies in a region if its own line does, or
the line of a call that led to it: regions are named in the function that has all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePath

from evaluation.truth import Bug, Cause, matching
from unsnarl.model.report import Finding, FindingPoint, Fix


def contains(bug: Bug, cause: Cause, finding: Finding) -> bool:
    """Whether the finding's fix has the cause in it."""
    fix = finding.fix
    if fix is None:
        return False
    true = _told(bug, cause, finding)
    if fix.kind == "order":
        return _is_order(fix, cause, true)
    back = _returning(cause)
    if back:
        return _has(fix, true[back[0]]) and _has(fix, true[back[-1]])
    # An order is kept by a region, too, if it has one side of it and keeps the other side out.
    inside = [_has(fix, one) for one in true]
    return any(inside) and all(
        has or _beside(fix, one) for has, one in zip(inside, true, strict=True)
    )


def _told(bug: Bug, cause: Cause, finding: Finding) -> list[list[FindingPoint]]:
    """For every true point those of the finding that are it."""
    points = [*finding.points, *finding.explanation]
    found = [(point, matching(cause, point, bug.folder)) for point in points]
    return [[point for point, true in found if at in true] for at in range(len(cause.points))]


def _returning(cause: Cause) -> list[int]:
    """The places of the role that comes back after another one's point."""
    roles = [point.role for point in cause.points]
    for role in dict.fromkeys(roles):
        mine = [at for at, other in enumerate(roles) if other == role]
        if mine[-1] - mine[0] >= len(mine):
            return mine
    return []


def _is_order(fix: Fix, cause: Cause, true: Sequence[Sequence[FindingPoint]]) -> bool:
    """What came later should come first, and what came too early should wait."""
    early = [
        p
        for at, one in enumerate(cause.points)
        if one.role == cause.points[0].role
        for p in true[at]
    ]
    late = [
        p
        for at, one in enumerate(cause.points)
        if one.role != cause.points[0].role
        for p in true[at]
    ]
    waits = any(point.line == fix.end.line for point in early)
    first = any(point.line == fix.begin.line for point in late)
    return waits and first


def _has(fix: Fix, points: Sequence[FindingPoint]) -> bool:
    return any(_is_inside(fix, place) for point in points for place in _places(point))


def _places(point: FindingPoint) -> list[tuple[str, str, int]]:
    """File, function and line of a point and of the calls that led to it."""
    own = (PurePath(point.file).name, point.function, point.line)
    calls = []
    for frame in point.stack:
        where, _, function = frame.partition(" in ")
        file, _, line = where.rpartition(":")
        calls.append((PurePath(file).name, function, int(line)))
    return [own, *calls]


def _is_inside(fix: Fix, place: tuple[str, str, int]) -> bool:
    file, function, line = place
    if file != PurePath(fix.begin.file).name:
        return False
    if fix.function:
        return function == fix.function and fix.begin.line <= line <= fix.end.line
    return line in (fix.begin.line, fix.end.line)


def _beside(fix: Fix, points: Sequence[FindingPoint]) -> bool:
    """Whether a point is where another thread must keep out."""
    for other in fix.others:
        file, _, lines = other.rpartition(":")
        first, _, last = lines.partition("-")
        for point in points:
            same = Path(point.file).name == Path(file).name
            if same and int(first) <= point.line <= int(last or first):
                return True
    return False
