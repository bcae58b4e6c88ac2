# SPDX-License-Identifier: Apache-2.0
"""Other windows of one bug: further accesses that come into the same region.

That an access came between two of another thread is forbidden by keeping it out. Runs may fail all
the same, because another line changes the same variable there: `add` breaks an iteration as
`remove` does. A run that failed although no rule was given up shows which line that is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unsnarl.experiments.rules import returning
from unsnarl.model.event import Event, site_of
from unsnarl.placement.line_points import NOWHERE, LinePoints
from unsnarl.placement.occurrence import Occurrence
from unsnarl.placement.timeline import Timeline

# So many further accesses are kept out: a variable that is changed everywhere needs another design.
MOST_WINDOWS = 4


def other_window(
    timeline: Timeline, lines: Sequence[LinePoints], kept_out: Sequence[LinePoints] = ()
) -> Occurrence:
    """The latest access between two of one region, and these two, if that is not on the lines.

    The two are in the functions of the region's first and last line; all three touch a cell that
    the lines are about, and neither order of them is the same to the program. Either the access is
    another one, or the region begins elsewhere.

    Args:
        timeline: A run that failed without the order of the lines.
        lines: An intrusion.
        kept_out: Others that could not come between, either.
    """
    inside = {point for line in (*lines, *kept_out) for point in line.points}
    by_cell: dict[int, list[Event]] = {}
    for event in timeline.done:
        if event.is_access:
            by_cell.setdefault(event.cell, []).append(event)
    ours = [some for some in by_cell.values() if any(one.point in inside for one in some)]
    found = (
        one
        for begin, end in _regions(lines)
        for accesses in ours
        for one in _intrusions(accesses, begin, end)
        if not {one[0].point, one[1].point} <= inside
    )
    return max(found, key=lambda one: one[-1].at, default=())


def _regions(lines: Sequence[LinePoints]) -> Iterator[tuple[LinePoints, LinePoints]]:
    for role in returning(lines):
        own = [line for line in lines if line.role == role]
        yield own[0], own[-1]


def _intrusions(
    accesses: Sequence[Event], begin: LinePoints, end: LinePoints
) -> Iterator[Occurrence]:
    """Where one of the accesses of a cell came between two of a region."""
    for at, last in enumerate(accesses):
        if not _is_of(last, end):
            continue
        for back in range(at - 1, -1, -1):
            first = accesses[back]
            if first.path == last.path:
                between = accesses[back + 1 : at] if _is_of(first, begin) else ()
                yield from ((first, one, last) for one in between if _is_torn(first, one, last))
                break


def _is_of(event: Event, line: LinePoints) -> bool:
    """Whether it is on a line, or in its function."""
    low, high = line.code
    return event.point in line.points or (
        line.code != NOWHERE and low <= site_of(event.point) < high
    )


def _is_torn(first: Event, between: Event, last: Event) -> bool:
    """Whether both conflict with what came between: neither before nor after is the same."""
    return between.writes or (first.writes and last.writes)
