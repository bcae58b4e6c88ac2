# SPDX-License-Identifier: Apache-2.0
"""Orders of a write and a read in which the write comes too early only at times.

A barrier's last worker sets `here = 0` for those who wait to see it; it comes back and counts
itself in again before one of them has looked. `here++` before the look is the order that is in no
passing run. But the same line is what the waiter waits for in the first place: if every `here++`
had to come after the look, nobody could go on. What must not happen is that a thread overwrites
what it has written before the other one has seen it.
"""

from __future__ import annotations

from collections.abc import Sequence

from unsnarl.model.event import Event, Op
from unsnarl.placement.line_points import LinePoints
from unsnarl.placement.occurrence import Occurrence, latest_occurrence
from unsnarl.placement.timeline import Timeline


def overwritten(timeline: Timeline, lines: Sequence[LinePoints]) -> Occurrence:
    """What the writer had written to the same cell just before, then the write and the read.

    () if it is no such order, or others came to the cell in between: they have seen it.
    """
    events = latest_occurrence(timeline, lines)
    if len(events) != len(lines) or [event.op for event in events] != [Op.WRITE, Op.READ]:
        return ()
    late, look = events
    earlier = [one for one in timeline.done if one.cell == late.cell and one.at < late.at]
    last = next((one for one in reversed(earlier) if _is_other(one, late)), None)
    if last is None or last.path != late.path or late.path == look.path:
        return ()
    return (last, late, look)


def _is_other(one: Event, late: Event) -> bool:
    """Whether it is a write by another line, or another thread's access."""
    return one.path != late.path or (one.op is Op.WRITE and one.point != late.point)
