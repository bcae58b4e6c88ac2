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
    taken = [one for one in last if one.path == events[0].path]
    # Where nobody had it, since even the first one waits, there is nobody to come last.
    return going_last(timeline.hold(taken[-1]), events) if taken else []


def with_steps_before(
    timeline: Timeline, lines: Sequence[LinePoints], line: Callable[[Event], object]
) -> list[Occurrence]:
    """A lock held while waiting as intrusions, into what the other thread did before its wait.

    That is the step before the wait, or the check that is further back: what it had read there, the
    taker changes while it holds the lock.

    Args:
        timeline: A failing run.
        lines: Those of the answer.
        line: Where an event is.
    """
    events = latest_occurrence(timeline, lines)
    if len(events) < len(lines) or [one.role for one in lines[:3]] != HELD_WHILE_WAITING:
        return []
    taken, held, waits = events[:3]
    own = [one for one in timeline.done if one.path == waits.path and one.site]
    elsewhere = [one for one in own if line(one) != line(waits)]
    theirs = [one for one in timeline.done if one.path == taken.path and taken.at < one.at]
    begins = [_step(elsewhere, line), _check(elsewhere, theirs)]
    last = _last_before(held, taken, theirs)
    return [(begin, taken, last, waits) for begin in dict.fromkeys(begins) if begin is not None]


def _step(elsewhere: Sequence[Event], line: Callable[[Event], object]) -> Event | None:
    """Where a thread was on the last line before its wait."""
    if not elsewhere:
        return None
    # From its beginning: one line may do several things, and any of them may decide.
    step = list(takewhile(lambda one: line(one) == line(elsewhere[-1]), reversed(elsewhere)))
    # Where it asks for a lock it can be stopped; before an access it may still hold the other one.
    attempts = [one for one in step if one.op is Op.ACQUIRE]
    return (attempts or step)[-1]


def _check(elsewhere: Sequence[Event], theirs: Sequence[Event]) -> Event | None:
    """The last read of what the other one changes later, while it holds the lock."""
    changes = {one.cell: one.at for one in theirs if one.is_access and one.writes}
    reads = (one for one in reversed(elsewhere) if one.op is Op.READ and one.cell in changes)
    return next((one for one in reads if one.at < changes[one.cell]), None)


def _last_before(held: Event, taken: Event, theirs: Sequence[Event]) -> Event:
    """What a thread does last before it waits with its lock; the wait, if there is nothing.

    Its region ends there: while it waits it changes nothing, and whoever it waits for must be let
    by. Once it waits, that would depend on a rule that is given up, or on a limit of the program.
    """
    before = [one for one in theirs if one.at < held.at and one.site and one.point != taken.point]
    return before[-1] if before else held
