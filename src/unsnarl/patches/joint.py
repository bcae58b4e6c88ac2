# SPDX-License-Identifier: Apache-2.0
"""One patch for several causes of a failure: what repairs one of them alone still fails.

Their findings become one, whose lines have to be protected all together. So drafts, counterexamples
and checks are the usual ones, and what survives them is a fix of the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from msgspec.structs import replace

from unsnarl.model.report import Finding, FindingPoint, Fix
from unsnarl.patches.conflict import MAIN, PARTS


def joined(causes: Sequence[Finding]) -> Finding:
    """All causes as one finding, each with roles of its own."""
    return replace(
        causes[0],
        variables=tuple(dict.fromkeys(chain.from_iterable(one.variables for one in causes))),
        points=tuple(_points([_own(one, one.points) for one in causes])),
        explanation=tuple(_points([_own(one, one.explanation or one.points) for one in causes])),
        fix=_fix([one.fix for one in causes if one.fix is not None]),
    )


def _own(cause: Finding, points: Sequence[FindingPoint]) -> list[FindingPoint]:
    """Without accesses of what another cause is about."""
    names = {PARTS.sub("", one) for one in cause.variables}
    return [one for one in points if not one.variable or PARTS.sub("", one.variable) in names]


def _points(parts: Sequence[Sequence[FindingPoint]]) -> Iterator[FindingPoint]:
    """Roles of two causes are different ones: no lines are looked for between their accesses.

    What the main thread does at the end is no part of a cause: it only sees what came of it.
    """
    taken = 0
    for part in parts:
        points = list(part)
        while points and points[-1].thread == MAIN:
            points.pop()
        yield from (replace(one, role=one.role + taken) for one in points)
        taken += max((one.role for one in points), default=0)


def _fix(fixes: Sequence[Fix]) -> Fix | None:
    """The lines of all simulated fixes, under the lock of the first that has one."""
    regions = [one for one in fixes if one.kind == "region" and one.begin.file == one.end.file]
    if not regions:
        return None
    first, *more = sorted(regions, key=lambda one: not one.lock)
    others = [*first.others]
    for one in more:
        others += [f"{one.begin.file}:{one.begin.line}-{max(one.begin.line, one.end.line)}"]
        others += one.others
    return replace(first, others=tuple(dict.fromkeys(others)))
