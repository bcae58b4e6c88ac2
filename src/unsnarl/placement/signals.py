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
DECIDES = re.compile(r"(el)?if\b|while\b")
LAST_LOOKS = 4  # of a thread before its end


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
    locks = _locks(events, site, wait)
    same = [one for one in events if one.cell in locks]
    others = (one for one in _under(events, locks) if one.path != wait.path)
    given = [one for one in others if SIGNALS.search(text(site(one)))]
    if not given:
        return []
    undone = [one for one in same if one.at > given[-1].at and UNDOES.search(text(site(one)))]
    return [given[-1], *undone[-1:]]


def who_left(
    events: Sequence[Event], site: Callable[[Event], Site], text: Callable[[Site], str], wait: Event
) -> list[Event]:
    """Why a thread that could have ended a wait has ended: what it saw last, and who wrote that.

    It had used what is waited for, and left its loop by what another thread had written.
    """
    used = {one.path for one in events if one.cell in _locks(events, site, wait)}
    ended = [one for one in events if one.op is Op.END and one.path in used - {wait.path}]
    found: list[Event] = []
    for end in ended:
        mine = [one for one in events if one.path == end.path and one.op is Op.READ]
        last = next((one for one in reversed(mine) if DECIDES.match(text(site(one)))), None)
        writes = [
            one for one in events if last and one.writes and one.cell == last.cell and one < last
        ]
        if last and writes and writes[-1].path != last.path and _is_late(last, mine):
            found += [writes[-1], last]
    return found[-2:]


def _is_late(last: Event, mine: Sequence[Event]) -> bool:
    """Whether it is among the last things that its thread looked at."""
    return last.at >= mine[-LAST_LOOKS:][0].at


def _locks(events: Sequence[Event], site: Callable[[Event], Site], wait: Event) -> set[int]:
    """The locks of what a wait is for: those that its line takes."""
    where = _line(site(wait))
    mine = (one for one in events if one.path == wait.path)
    return {one.cell for one in mine if _line(site(one)) == where and one.op.is_sync}


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
