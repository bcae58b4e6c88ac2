# SPDX-License-Identifier: Apache-2.0
"""The signal that a wait has missed: who gave it, and who took it back before the wait began."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from unsnarl.model.event import Event, Op
from unsnarl.model.site import Site

# Methods of the standard library that end a wait for their object, and the one that undoes them.
SIGNALS = ("set", "notify", "notify_all", "put", "put_nowait", "set_result", "set_exception")
UNDOES = "clear"


def missed_signal(
    accesses: Sequence[Event], site: Callable[[Event], Site], wait: Event
) -> list[Event]:
    """The last signal that another thread gave to what a line waits for, and what undid it.

    Args:
        accesses: All of the run, in order of time.
        wait: A wait that did not end.
    """
    calls = [event for event in accesses if event.op is Op.CALL]
    where = _line(site(wait))
    waiting = [one for one in calls if one.path == wait.path and _line(site(one)) == where]
    if not waiting:
        return []
    same = [one for one in calls if one.cell == waiting[-1].cell]
    given = [one for one in same if one.path != wait.path and site(one).name in SIGNALS]
    if not given:
        return []
    undone = [one for one in same if one.at > given[-1].at and site(one).name == UNDOES]
    return [given[-1], *undone[-1:]]


def _line(site: Site) -> tuple[str, int]:
    return site.file, site.line
