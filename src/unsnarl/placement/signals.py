# SPDX-License-Identifier: Apache-2.0
"""The signal that a wait has missed: who gave it, and who took it back before the wait began."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence

from unsnarl.model.event import Event, Op
from unsnarl.model.site import Site

# Methods of the standard library that end a wait for their object, and the one that undoes them.
SIGNALS = re.compile(r"\.(set|notify|notify_all|put|put_nowait|set_result|set_exception)\(")
UNDOES = re.compile(r"\.clear\(")


def missed_signal(
    events: Sequence[Event], site: Callable[[Event], Site], text: Callable[[Site], str], wait: Event
) -> list[Event]:
    """The last signal that another thread gave to what a line waits for, and what undid it.

    Whatever is waited for has a lock of its own, which all its methods take: that it is the same
    shows in the lock.

    Args:
        events: All of the run, in order of time.
        wait: A wait that did not end.
    """
    where = _line(site(wait))
    mine = (one for one in events if one.path == wait.path)
    locks = {one.cell for one in mine if _line(site(one)) == where and one.op.is_sync}
    same = [one for one in events if one.cell in locks]
    others = (one for one in _under(events, locks) if one.path != wait.path)
    given = [one for one in others if SIGNALS.search(text(site(one)))]
    if not given:
        return []
    undone = [one for one in same if one.at > given[-1].at and UNDOES.search(text(site(one)))]
    return [given[-1], *undone[-1:]]


def _under(events: Sequence[Event], locks: Collection[int]) -> Iterator[Event]:
    """What was done with these locks, and while a thread held one of them.

    Where nobody waits yet, a `notify()` touches no lock.
    """
    holders: set[str] = set()
    for one in events:
        if one.cell in locks or one.path in holders:
            yield one
        if one.cell in locks and one.op is Op.ACQUIRE:
            holders.add(one.path)
        elif one.cell in locks and one.op is Op.RELEASE:
            holders.discard(one.path)


def _line(site: Site) -> tuple[str, int]:
    return site.file, site.line
