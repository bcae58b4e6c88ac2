# SPDX-License-Identifier: Apache-2.0
"""What each thread of a recorded run did, in its own order: from its log, or from a followed run.

Logs with values have every access (`unsnarl record --values`), with a stamp of its own at the level
of accesses; else between those of functions or loops, as ReCBuLC has it (IV, V.B). Of a run that
was recorded with its branches only, a second run along these branches shows the accesses, and the
log says when locks and threads were used.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np

from unsnarl.model.event import Op, op_of, ops_of, site_of
from unsnarl.model.record import Record, ThreadLog
from unsnarl.recording.clocks.ranges import Clocks
from unsnarl.reproduce.pres.base import Times
from unsnarl.runfile import RunFile

HAS_VALUE, MORE = 1, 4  # UNS_VALUE_...
ACCESSES = (Op.READ, Op.WRITE, Op.CALL)
_SYNC = (Op.ACQUIRE, Op.RELEASE, Op.END, Op.JOIN)
_THREADS = (Op.START, Op.BEGIN)
_MARKS = (Op.ENTER, Op.EXIT, Op.BLOCK)


class Touched(msgspec.Struct, frozen=True):
    """A cell that an event touched, how, and what was there; None if that is not known.

    A method of a container finds one size and leaves another: it touches the cell twice.
    """

    op: Op
    cell: int
    value: int | None = None


class LoggedEvent(msgspec.Struct, frozen=True):
    """One event of a thread.

    Attributes:
        point: Where, and what (format.h).
        touched: The cells of an access (several for a copied block), or the lock.
        stamp: When, by the clock of `core`; 0 if it was not stamped.
        time: About when, on one axis for all threads.
        number: Of an access of a followed run: for the how-manieth access of its thread.
        marks: Stamps and cores of functions and loops after it, before the thread's next event.
    """

    point: int
    touched: tuple[Touched, ...] = ()
    stamp: int = 0
    core: int = 0
    time: float = 0.0
    number: int = -1
    marks: tuple[tuple[int, int], ...] = ()

    @property
    def op(self) -> Op:
        """What was done."""
        return op_of(self.point)

    @property
    def is_access(self) -> bool:
        """Whether data was touched."""
        return self.op in ACCESSES


class History(msgspec.Struct, frozen=True):
    """A thread and what it did."""

    path: str
    events: tuple[LoggedEvent, ...]


def of_record(record: Record, clocks: Clocks | None) -> list[History]:
    """The histories of a run whose accesses were all logged."""
    times = Times(record, clocks)
    events = _logged if record.how.level == "access" else _between
    return [
        History(one.path, tuple(events(one, times.corrected(at).tolist())))
        for at, one in enumerate(record.threads)
    ]


def _logged(log: ThreadLog, times: Sequence[float]) -> Iterable[LoggedEvent]:
    """Events with what they touched: values stand before the event that they belong to."""
    touched: dict[int, list[Touched]] = defaultdict(list)
    sites: dict[int, int] = {}
    for cell, value, point, position, _, flags, _ in log.values.tolist():
        found = Touched(op_of(point), cell, value if flags & HAS_VALUE else None)
        touched[position].append(found)
        sites[position] = site_of(point)
    for position, (stamp, point, _, core) in enumerate(log.events.tolist()):
        here = tuple(touched[position]) if sites.get(position) == site_of(point) else ()
        yield LoggedEvent(point, here, stamp, core, times[position])


def _between(log: ThreadLog, times: Sequence[float]) -> list[LoggedEvent]:
    """Events and, between them, accesses: of these only the values were logged, and no times."""
    accesses, locks = _untimed(log)
    found: list[LoggedEvent] = []
    for position, (stamp, point, _, core) in enumerate(log.events.tolist()):
        found += _spread(accesses[position], times, position)
        if op_of(point) not in _MARKS:
            found.append(LoggedEvent(point, locks.get(position, ()), stamp, core, times[position]))
        elif found:
            # Of marks in a row the first ends what was before, the last begins what comes next.
            marks = (*found[-1].marks[:1], (stamp, core))
            found[-1] = msgspec.structs.replace(found[-1], marks=marks)
    return [*found, *_spread(accesses[len(log.events)], times, len(log.events))]


def _untimed(log: ThreadLog) -> tuple[dict[int, list[LoggedEvent]], dict[int, tuple[Touched, ...]]]:
    """By the number of events before: accesses, and the lock that the next event is of."""
    accesses: dict[int, list[LoggedEvent]] = defaultdict(list)
    locks: dict[int, tuple[Touched, ...]] = {}
    for cell, value, point, position, _, flags, _ in log.values.tolist():
        one = Touched(op_of(point), cell, value if flags & HAS_VALUE else None)
        here = accesses[position]
        if one.op not in ACCESSES:
            locks[position] = (one,)
        elif flags & MORE and here:
            here[-1] = LoggedEvent(point, (*here[-1].touched, one))
        else:
            here.append(LoggedEvent(point, (one,)))
    return accesses, locks


def _spread(
    accesses: Sequence[LoggedEvent], times: Sequence[float], position: int
) -> Iterable[LoggedEvent]:
    """With times: evenly between the event before and the next one."""
    if not times:
        return accesses
    begin, end = times[max(position - 1, 0)], times[min(position, len(times) - 1)]
    step = (end - begin) / (len(accesses) + 1)
    return [
        msgspec.structs.replace(did, time=begin + step * number)
        for number, did in enumerate(accesses, 1)
    ]


def of_run(run: RunFile, record: Record) -> list[History]:
    """The histories of a followed run, with the stamps of the recorded one."""
    logs = {one.path: one for one in record.threads}
    found = []
    for thread in run.threads:
        events = _traced(run, thread.index)
        log = logs.get(thread.path)
        if log is not None:
            events = _stamped(events, log)
            found.append(_cut(History(thread.path, tuple(events)), log))
    return found


def _cut(history: History, log: ThreadLog) -> History:
    """Without what a thread did only in the followed run: the recorded one was over before."""
    ops = ops_of(log.events["point"])
    if Op.END in ops:
        return history
    left = int(np.isin(ops, (*_SYNC, *_THREADS)).sum())
    for position, did in enumerate(history.events):
        left -= not did.is_access
        if left < 0:
            return History(history.path, history.events[:position])
    return history


def _traced(run: RunFile, thread: int) -> list[LoggedEvent]:
    rows = run.trace[run.trace["thread"] == thread]
    begun = [(time, LoggedEvent(int(Op.START))) for time in _starts(run, thread)]
    events: list[tuple[int, LoggedEvent]] = []
    number = 0
    for row in rows.tolist():
        time, cell, point = row[0], row[1], row[2]
        op = op_of(point)
        if op in ACCESSES:
            did = LoggedEvent(point, (Touched(op, cell),), time=time, number=number)
            events.append((time, did))
            number += 1
        elif site_of(point) or op is Op.END:
            events.append((time, LoggedEvent(point, (Touched(op, cell),), time=time)))
    first = [] if thread == 0 else [LoggedEvent(int(Op.BEGIN))]
    merged = sorted([*events, *begun], key=lambda one: one[0])
    return first + [event for _, event in merged]


def _starts(run: RunFile, thread: int) -> list[int]:
    """When this thread started others: their order begins with it."""
    first: dict[int, Any] = {}
    for row in run.orders.tolist():
        first.setdefault(row[0], row)
    children = [one for one in run.threads if one.index and one.parent == thread]
    return [first[one.index][3] for one in children if one.index in first]


def _stamped(events: Sequence[LoggedEvent], log: ThreadLog) -> list[LoggedEvent]:
    """With the stamps of the log, as far as both used locks and threads in the same way."""
    wanted = np.isin(ops_of(log.events["point"]), (*_SYNC, *_THREADS))
    rows = iter(log.events[wanted].tolist())
    found = list(events)
    for position, event in enumerate(events):
        if event.is_access:
            continue
        row = next(rows, None)
        # From here on the runs differ, and stamps would be given to the wrong events.
        if row is None or row[1] != event.point:
            break
        found[position] = msgspec.structs.replace(event, stamp=row[0], core=row[3])
    return found
