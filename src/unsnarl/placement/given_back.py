# SPDX-License-Identifier: Apache-2.0
"""Waits in which a thread gives a lock back: there others come between what it does under it.

That all accesses hold one lock is a riddle as long as such a wait is not shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from unsnarl.model.event import Event, Op
from unsnarl.placement.traced import TracedRun


def given_back(run: TracedRun, shown: Sequence[Event]) -> list[Event]:
    """The releases by waits of locks that a thread holds at two accesses with another's between."""
    found: list[Event] = []
    threads = dict.fromkeys(event.path for event in shown if run.locks)
    for thread in threads:
        mine = [event for event in shown if event.path == thread]
        for one, other in pairwise(mine):
            held = {taken.cell for taken in run.around(one)}
            held &= {taken.cell for taken in run.around(other)}
            between = (event for event in shown if one.at < event.at < other.at)
            if held and any(event.path != thread for event in between):
                found += _waits(run, one, other, held)
    return found


def _waits(run: TracedRun, one: Event, other: Event, held: set[int]) -> Iterator[Event]:
    """The last wait between the two accesses for each of the locks.

    A wait gives the lock back and takes it again, all in one call; the rounds of a loop do not.
    """
    for lock in held:
        steps = [
            event
            for event in run.locks
            if (event.path, event.cell) == (one.path, lock) and one.at < event.at < other.at
        ]
        waits = [
            release
            for release, acquire in pairwise(steps)
            if release.op is Op.RELEASE
            and acquire.op is Op.ACQUIRE
            and release.site == acquire.site
        ]
        yield from waits[-1:]
