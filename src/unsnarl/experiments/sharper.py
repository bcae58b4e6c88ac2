# SPDX-License-Identifier: Apache-2.0
"""An answer told by other accesses of the same failing run: those that matter most.

Of a region into which another thread came, many accesses tell: all that its two ends have in
common with what the other one did. The nearest to it on both sides say what must not be torn apart;
what is further away follows from them, or only led there. A ranking cannot see the difference: all
of them are in the same runs. So they are told beside what was ranked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from unsnarl.analyses.answer import Answer, Line
from unsnarl.experiments.constraints import Event, Key, Timeline
from unsnarl.experiments.told import Chain
from unsnarl.model.site import Op
from unsnarl.runfile import Interner, RunFile


def tightest(timeline: Timeline, chain: Chain, line: Callable[[Event], object]) -> Chain:
    """With the last conflict before the intrusion and the first one after it; () if it is none.

    Args:
        timeline: The run.
        chain: The answer as it occurred.
        line: Where an event is; another access of the line that is told already says no more.
    """
    if len({event.path for event in chain}) != 2 or chain[0].path != chain[-1].path:
        return ()
    inner = [event for event in chain if event.path != chain[0].path]
    whole = accesses(timeline)
    # A call that waits for the library's lock has not been made: what led to it comes before.
    since = chain[0].at if chain[0] in whole else -1
    mine = [event for event in whole if event.path == chain[0].path]
    others = [e for e in whole if e.path == inner[0].path and since < e.at < chain[-1].at]
    early = [event for event in reversed(mine) if since <= event.at < inner[0].at]
    before = ((one, other) for one, other in _conflicts(early, others) if one.at < other.at)
    first = _nearest(chain[0], inner, before, line)
    late = [event for event in mine if event.at > inner[-1].at]
    latest = [event for event in reversed(others) if not first or event.at > first[0].at]
    after = ((one, other) for one, other in _conflicts(late, latest) if other.at < one.at)
    last = _nearest(chain[-1], inner, after, line)
    by_key = {event.key: event for event in sorted({*chain, *first, *last})}
    return tuple(sorted(by_key.values()))


def _nearest(
    told: Event,
    inner: Sequence[Event],
    conflicts: Iterable[tuple[Event, Event]],
    line: Callable[[Event], object],
) -> list[Event]:
    """What makes the end of a region one: the nearest conflict, if it says more than is told."""
    near = next(iter(conflicts), None)
    met = any(True for _ in _conflicts([told], inner))
    if near is None or (met and line(near[0]) == line(told)):
        return []
    return list(near)


def accesses(timeline: Timeline) -> list[Event]:
    """All accesses; a call of a library comes when the library takes its own lock for it."""
    found: dict[Key, Event] = {}
    moved: set[Key] = set()
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


def told_by(
    answer: Answer, events: Sequence[Event], at: int, run: RunFile, interner: Interner
) -> Answer:
    """The answer with other lines: the events of one of its failing runs."""
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
    known = {role - 1: paths.index(path) for path, role in roles.items()}
    return replace(answer, lines=lines, threads={at: known})
