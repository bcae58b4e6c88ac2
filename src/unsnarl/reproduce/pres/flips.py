# SPDX-License-Identifier: Apache-2.0
"""Which racing pair to turn round next: those that the sketch leaves open, likely ones first.

A try that does not fail differs from the recorded run in the order of some conflicting accesses.
The times between which its two accesses must have been say how likely a pair was the other way
round. One that then comes between two accesses of another thread to the same cell is worth more
(Falcon's table 2): that is what most bugs need.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from unsnarl.model.constraint import Constraint
from unsnarl.model.event import Event, Op
from unsnarl.reproduce.pres.traced import TimeSpan, Traced

SAMPLES = 16
MOST_PAIRS = 20_000  # of those that a try leaves open, the latest
# What a pair is worth whatever the times say: clocks may be off, and so may be we.
LEAST = 0.02
INTRUSION = 2.0
# What a thread saw last before it did something else than it did when it was recorded.
DECISIVE = 4.0
EVEN_SO = 0.1  # the chance of such a pair, whatever the times say
# ... and what happened after that, which never was in the recorded run.
# With these among the others binlog took 14 tries, without them 2 (docs/adr/0022).
AFTERWARDS = 0.1
# Of two that are worth the same the later one: failures follow their causes closely.
RECENT = 0.2


class Flip(NamedTuple):
    """Two events to be had the other way round, and how promising that is."""

    constraint: Constraint
    worth: float

    @property
    def points(self) -> tuple[int, int]:
        """The same for all occurrences of the pair."""
        return self.constraint.before.point, self.constraint.after.point


def flips(traced: Traced, failing: str, blur: float) -> Iterator[Flip]:
    """All that may be turned round after a try.

    Args:
        failing: The thread that failed when it was recorded.
        blur: How far times may be off.
    """
    pairs = dict.fromkeys([*traced.conflicts(), *_acquires(traced)])
    left_open = [pair for pair in pairs if not traced.is_fixed(*pair)]
    visits, taken = _visits(traced), _taken(traced)
    total = len(traced.timeline.events) + 1
    for first, second in left_open[-MOST_PAIRS:]:
        flipped = traced.timeline.flipped(first, second, _since(traced, taken, first, second))
        if not flipped.is_named:
            continue
        decides = any(traced.decides(one, failing) for one in (first, second))
        worth = chance(traced.time_span(second), traced.time_span(first), blur)
        worth = max(worth, EVEN_SO) * DECISIVE if decides else worth + LEAST
        worth *= INTRUSION if _intrudes(visits, first, second) else 1.0
        if second.at >= traced.left:
            worth *= AFTERWARDS
        yield Flip(flipped, worth * (1 + RECENT * second.at / total))


def chance(early: TimeSpan, late: TimeSpan, blur: float) -> float:
    """How likely something of one window was before something of the other."""
    xs = np.linspace(late.begin - blur, late.end + blur, SAMPLES)
    low, high = early.begin - blur, early.end + blur
    return float(np.clip((xs - low) / max(high - low, 1e-9), 0, 1).mean())


Taken = dict[tuple[str, int], list[int]]


def _taken(traced: Traced) -> Taken:
    """By thread and lock, when it was taken."""
    found: Taken = {}
    for event in traced.timeline.events:
        if event.op is Op.ACQUIRE:
            found.setdefault((event.path, event.cell), []).append(event.at)
    return found


def _since(traced: Traced, taken: Taken, held: Event, awaited: Event) -> int:
    """Just before where a thread is to be held: at the access, or at a lock that the other needs.

    A lock that was certainly taken before what is awaited is no point to wait at.
    """
    # Always lifting the hold, as experiments do, hides what an unlocked reader sees inside a
    # critical section: jsstrlen took more than 80 tries instead of 2 (docs/adr/0022).
    for lock in traced.timeline.around(held):
        theirs = taken.get((awaited.path, lock.cell), [])
        next_ = bisect.bisect(theirs, lock.at)
        on_its_way = next_ < len(theirs) and theirs[next_] <= awaited.at
        if on_its_way and not traced.is_fixed(lock, awaited):
            return lock.at - 1
    return held.at


def _acquires(traced: Traced) -> Iterator[tuple[Event, Event]]:
    """Threads that take a lock one after the other."""
    last: dict[int, Event] = {}
    for event in traced.timeline.events:
        if event.op is Op.ACQUIRE:
            mine = last.get(event.cell)
            if mine is not None and mine.path != event.path:
                yield mine, event
            last[event.cell] = event


Visits = dict[tuple[str, int, int], Event]


def _visits(traced: Traced) -> Visits:
    """By the second of two accesses of a thread to one cell, the first."""
    return {second.key: first for first, second in traced.neighbours()}


def _intrudes(visits: Visits, held: Event, awaited: Event) -> bool:
    """Whether the awaited access would come between two that are one to their thread."""
    first = visits.get(held.key)
    if first is None:
        return False
    # Only R-R with a read between can be serialised, and W-?-W with a write that nobody reads.
    return awaited.writes or (first.writes and held.writes)
