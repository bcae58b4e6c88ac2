# SPDX-License-Identifier: Apache-2.0
"""One traced run, as far as what closes a conflict needs to know it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from unsnarl.model.event import Event
from unsnarl.model.site import Site


class TracedRun(NamedTuple):
    """What is known of the run.

    Attributes:
        accesses: All of them, in order of time, those that were due last.
        site: Where an event is in the source.
        text: The source line of a site.
        around: The acquires whose locks are held at an event.
        failing: The last access of the thread that failed.
        locks: Everything that was done to locks, in order of time.
        is_iterated: It failed because somebody changed what the failing access had begun to go
            through: the change came after that access, not before.
    """

    accesses: Sequence[Event]
    site: Callable[[Event], Site]
    text: Callable[[Site], str]
    around: Callable[[Event], Sequence[Event]]
    failing: Event | None = None
    locks: Sequence[Event] = ()
    is_iterated: bool = False
