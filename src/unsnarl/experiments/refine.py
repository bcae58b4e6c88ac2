# SPDX-License-Identifier: Apache-2.0
"""Refine an answer: name the accesses of the same failing run that matter most.

Many accesses of a region into which another thread intruded say so: all that its two ends have in
common with what the other one did. The nearest to it on both sides say what must not be torn apart;
what is further away follows from them, or only led there. A ranking cannot see the difference: all
of them are in the same runs. So they are added to what was ranked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from unsnarl.analyses.answer import Answer, Line
from unsnarl.model.event import Event, EventKey, Op
from unsnarl.placement.occurrence import Occurrence
from unsnarl.placement.timeline import Timeline
from unsnarl.runfile import Interner, RunFile


def tightest(
    timeline: Timeline, occurrence: Occurrence, line: Callable[[Event], object]
) -> Occurrence:
    """With the last conflict before the intrusion and the first one after it; () if it is none.

    Args:
        timeline: The run.
        occurrence: The answer as it occurred there.
        line: Where an event is; another access of a line that the answer has says no more.
    """
    first, last = (occurrence[0], occurrence[-1]) if occurrence else (None, None)
    # Only an intrusion (1-2-1) has two sides that can be refined (docs/adr/0016).
    if first is None or last is None or first.path != last.path:
        return ()
    if len({event.path for event in occurrence}) != 2:
        return ()
    inner = [event for event in occurrence if event.path != first.path]
    whole = accesses(timeline)
    # A call that waits for the library's lock has not been made: what led to it comes before.
    since = first.at if first in whole else -1
    mine = [event for event in whole if event.path == first.path]
    others = [e for e in whole if e.path == inner[0].path and since < e.at < last.at]
    early = [event for event in reversed(mine) if since <= event.at < inner[0].at]
    before = ((one, other) for one, other in _conflicts(early, others) if one.at < other.at)
    begins = _nearest(first, inner, before, line)
    late = [event for event in mine if event.at > inner[-1].at]
    latest = [event for event in reversed(others) if not begins or event.at > begins[0].at]
    after = ((one, other) for one, other in _conflicts(late, latest) if other.at < one.at)
    ends = _nearest(last, inner, after, line)
    # Added, not substituted: where something harmless lay between (connpool), the nearest accesses
    # alone left the cause out (docs/adr/0016).
    by_key = {event.key: event for event in sorted({*occurrence, *begins, *ends})}
    return tuple(sorted(by_key.values()))


def _nearest(
    end: Event,
    inner: Sequence[Event],
    conflicts: Iterable[tuple[Event, Event]],
    line: Callable[[Event], object],
) -> list[Event]:
    """The nearest conflict at one end of a region, if it says more than the end itself."""
    near = next(iter(conflicts), None)
    met = any(True for _ in _conflicts([end], inner))
    # A further access of a line already shown adds nothing (docs/adr/0016).
    if near is None or (met and line(near[0]) == line(end)):
        return []
    return list(near)


def accesses(timeline: Timeline) -> list[Event]:
    """All accesses; a call of a library comes when the library takes its own lock for it."""
    found: dict[EventKey, Event] = {}
    moved: set[EventKey] = set()
    for event in timeline.events:
        meant = timeline.meaning(event)
        if event.op is Op.ACQUIRE and meant.key not in moved:
            moved.add(meant.key)
            found[meant.key] = meant
        found.setdefault(meant.key, meant)
    return sorted(event for event in found.values() if event.is_access)


def _conflicts(mine: Iterable[Event], others: Iterable[Event]) -> Iterator[tuple[Event, Event]]:
    """Accesses of one cell by two threads, one of them changing it, in the order of both."""
    by_cell: dict[int, list[Event]] = defaultdict(list)
    for other in others:
        by_cell[other.cell].append(other)
    for one in mine:
        yield from ((one, other) for other in by_cell[one.cell] if one.writes or other.writes)


def answer_of(
    answer: Answer, events: Sequence[Event], at: int, run: RunFile, interner: Interner
) -> Answer:
    """The answer with other lines: the events of failing run `at`.

    This is the one way back from events to lines. An answer's lines are in campaign-wide terms, and
    the experiments about it ask other runs for the same lines.
    """
    raw = np.array([event.point for event in events], dtype=np.uint32)
    points = interner.indexes(raw, run).tolist()
    paths = [thread.path for thread in run.threads]
    roles = {path: at for at, path in enumerate(dict.fromkeys(e.path for e in events), start=1)}
    lines = tuple(
        Line(
            point=point,
            region="body",
            role=roles[event.path],
            confidence=1.0,
            time=float(event.at),
            separation=1.0,
            same_cell=1.0,
            anchor=roles[event.path] - 1,
        )
        for event, point in zip(events, points, strict=True)
    )
    threads = {role - 1: paths.index(path) for path, role in roles.items()}
    return replace(answer, lines=lines, threads={at: threads})
