# SPDX-License-Identifier: Apache-2.0
"""Waits that do not end: what must not happen so that their threads go on.

Whoever took the lock first is made the last to take it. That says nothing where the thread that
waits for the lock comes back for it until the first one asks it to leave: it would be waited for in
vain. What let it wait then is the step before: it had looked whether to go on, and was yet to take
the lock, when the other one took it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile

from unsnarl.experiments.rules import going_last
from unsnarl.model.event import Event, Op
from unsnarl.model.plan import Rule
from unsnarl.placement.line_points import LinePoints
from unsnarl.placement.occurrence import Occurrence, latest_occurrence
from unsnarl.placement.timeline import Timeline

# Who takes the lock and waits with it, and who waits for the lock.
HELD_WHILE_WAITING = [1, 1, 2]


def taken_last(timeline: Timeline, lines: Sequence[LinePoints]) -> list[Rule]:
    """Who took the lock first in this run comes after all others; [] if it is not that."""
    events = latest_occurrence(timeline, lines)
    if len(events) != len(lines) or events[0].op not in (Op.ACQUIRE, Op.CALL):
        return []
    # The last one before all wait: a call may take effect after others made later.
    last = [one for one in timeline.done if one.point in lines[0].points]
    first = [one for one in last if one.path == events[0].path][-1]
    return going_last(timeline.hold(first), events)


def with_step_before(
    timeline: Timeline, lines: Sequence[LinePoints], line: Callable[[Event], object]
) -> Occurrence:
    """A lock held while waiting as an intrusion: into the step before the other thread's wait.

    Args:
        timeline: A failing run.
        lines: Those of the answer.
        line: Where an event is.
    """
    events = latest_occurrence(timeline, lines)
    if len(events) < len(lines) or [one.role for one in lines[:3]] != HELD_WHILE_WAITING:
        return ()
    taken, held, waits = events[:3]
    own = [one for one in timeline.done if one.path == waits.path and one.site]
    elsewhere = [one for one in own if line(one) != line(waits)]
    if not elsewhere:
        return ()
    # From its beginning: one line may do several things, and any of them may decide.
    step = list(takewhile(lambda one: line(one) == line(elsewhere[-1]), reversed(elsewhere)))
    # Where it asks for a lock it can be stopped; before an access it may still hold the other one.
    attempts = [one for one in step if one.op is Op.ACQUIRE]
    return (attempts or step)[-1], taken, held, waits
