# SPDX-License-Identifier: Apache-2.0
"""The events of a traced run in the order of time, and the constraints that it keeps.

Each constraint becomes one rule of the gate: the thread of the later event is held until the
earlier one has happened. Where it is held is chosen so that the failing run itself keeps the rule:
any set of such rules can be kept together, because that run kept them all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from unsnarl.model.constraint import Constraint
from unsnarl.model.event import Event, EventKey, Op, op_of, site_of, with_op
from unsnarl.model.run import Wait, in_cycle
from unsnarl.placement.locks import LockWalk
from unsnarl.runfile import RunFile
from unsnarl.runfile.layout import TRACE_FOLLOWS


class Timeline:
    """The events of one traced run in the order of time, pending ones last.

    Attributes:
        events: All of them.
        done: Those of the trace, and accesses that were due when the run ended.
        due: The latter.
        pending: Acquires and joins that were not granted when nobody could go on any more; they are
            in no trace. What a time limit made of them comes later, and is left out.
        counts: How many there were of each point in each thread.
    """

    def __init__(self, run: RunFile, trace: npt.NDArray[Any] | None = None) -> None:
        """`trace` replaces that of the run: rows of it."""
        rows = _until_standstill(run) if trace is None else trace
        for thread, end in run.ends.items():
            rows = rows[(rows["thread"] != thread) | (rows["time"] <= end)]
        paths = [thread.path for thread in run.threads]
        self.events: list[Event] = []
        self.counts: Counter[tuple[str, int]] = Counter()
        follows: set[int] = set()
        for _, cell, point, thread, context in rows.tolist():
            event = self._add(paths[thread], point, cell)
            if context & TRACE_FOLLOWS:
                follows.add(event.at)
            self.counts[paths[thread], point] += 1
        # An access may be due to several cells: it is one event.
        due: dict[tuple[str, int], int] = {}
        for one in run.due:
            due.setdefault((one.path, one.raw), one.cell)
        self.due = [self._add(*name, cell) for name, cell in due.items()]
        # A copy, because the pending acquires are appended to `events` next.
        self.done = self.events[:]
        unending = list(_unending(run.final_waits))
        self.pending = [
            self._add(paths[wait.thread], _tried(wait.point), wait.object) for wait in unending
        ]
        self._for_signals = {
            event.at for event, wait in zip(self.pending, unending, strict=True) if wait.owner < 0
        }
        heads = {site for _, site, _, head, *_ in run.counts.tolist() if site == head}
        self._walk = LockWalk(self.events, heads, follows)
        self._at = {event.key: event.at for event in self.done}

    @classmethod
    def of(cls, run: RunFile) -> Timeline:
        """That of a traced run, made once: every experiment asks for those of the same few runs.

        It is made anew if the run has been marked with what a comparison says of it.
        """
        marks = run.due, run.failing_point, run.standstill
        kept = _kept.get(run)
        if kept is None or kept[0] != marks:
            kept = _kept[run] = marks, cls(run)
        return kept[1]

    def _add(self, path: str, point: int, cell: int) -> Event:
        occurrence = self.counts[path, point] + 1
        self.events.append(Event(len(self.events), path, point, occurrence, cell))
        return self.events[-1]

    def constraint(self, before: Event, after: Event) -> Constraint | None:
        """The constraint between two events; None if the later thread cannot be held for it.

        A hold is lifted to the outermost lock around the access (line_points.py says why), but not
        beyond the earlier event: that one happened while the outer locks were held, so it needs
        none of them.
        """
        hold = self._hold(after, before.at)
        # Held before the earlier event, the failing run itself would break the rule.
        if hold is None or hold <= before.at:
            return None
        return Constraint(before, after, self.events[hold])

    def constraints(self, pairs: Iterable[tuple[Event, Event]]) -> Iterator[Constraint]:
        """The constraints between pairs of events, where there is one."""
        for before, after in pairs:
            found = self.constraint(before, after)
            if found is not None:
                yield found

    def inverse(self, constraint: Constraint) -> Constraint:
        """The other way round: the earlier thread waits until the later event has happened."""
        return self.flipped(constraint.before, constraint.after)

    def flipped(self, before: Event, after: Event, since: int = -1) -> Constraint:
        """`after` first: the thread of `before` waits for it, somewhere behind `since`."""
        hold = self._hold(before, since)
        return Constraint(after, before, before if hold is None else self.events[hold])

    def _hold(self, event: Event, since: int) -> int | None:
        """Where its thread is to be stopped for it, at an event that comes after `since`."""
        waits = event.at in self._for_signals
        # Acquires stay where they are: a lock operation may be the pattern itself (line_points.py).
        # Who is about to wait for a signal holds the lock that whoever gives it needs.
        lifted = event.is_access or event.op is Op.RELEASE or waits
        found = self._lifted(event.at, since) if lifted else self._walk.heads[event.at]
        # That lock was given back in the wait, but is held where its thread can last be stopped.
        return self._lifted(found, since) if waits and found is not None else found

    def _lifted(self, at: int, since: int) -> int | None:
        """Where its thread can last be stopped before the outermost lock held there."""
        around = [one for one in self._walk.around[at] if one > since]
        return self._walk.heads[around[0] if around else at]

    def hold(self, event: Event) -> Event:
        """Where its thread can last be stopped before it."""
        at = self._walk.heads[event.at]
        return event if at is None else self.events[at]

    def around(self, event: Event) -> list[Event]:
        """The acquires whose locks are held there, outermost first; those of signals are not."""
        return [self.events[at] for at in self._walk.around[event.at]]

    def breaks(self, constraint: Constraint) -> bool:
        """Whether this run does not keep a constraint of another one."""
        return _breaks(self._at, constraint)

    def meaning(self, event: Event) -> Event:
        """The event to show for it: a lock that a library takes inside a call stands for the call.

        The call is given the time of the lock operation: only then does the library do its work.
        One that waits has not done it.
        """
        is_done = event.at < len(self.done)
        call = self._walk.calls[event.at] if is_done and not event.is_access else None
        return event if call is None else self.events[call]._replace(at=event.at)

    @cached_property
    def _by_point(self) -> dict[int, list[Event]]:
        return _by_point(self.events)

    @cached_property
    def _meanings_by_point(self) -> dict[int, list[Event]]:
        return _by_point(map(self.meaning, self.events))

    def at_points(self, points: Iterable[int], *, meant: bool = False) -> Sequence[Event]:
        """The events of some points in the order of time; with `meant`, what events stand for.

        There are few of them, and a hunt asks hundreds of times: events are looked through once.
        """
        rows = self._meanings_by_point if meant else self._by_point
        found = [rows[point] for point in dict.fromkeys(points) if point in rows]
        return found[0] if len(found) == 1 else sorted(chain.from_iterable(found))

    def find(self, key: EventKey) -> Event | None:
        """The event of that name, if it happened in this run."""
        at = self._at.get(key)
        return None if at is None else self.events[at]

    def failing(self, path: str) -> list[Event]:
        """Where it failed: the threads' pending acquires, or a thread's last access."""
        if self.pending:
            return self.pending
        return [event for event in self.events if event.path == path and event.is_access][-1:]


def _by_point(events: Iterable[Event]) -> dict[int, list[Event]]:
    found: dict[int, list[Event]] = {}
    for event in events:
        found.setdefault(event.point, []).append(event)
    return found


_kept: WeakKeyDictionary[RunFile, tuple[tuple[object, ...], Timeline]] = WeakKeyDictionary()


def _until_standstill(run: RunFile) -> npt.NDArray[Any]:
    trace: npt.NDArray[Any] = run.trace
    return trace if run.standstill is None else trace[trace["time"] <= run.standstill.time]


def _unending(waits: Sequence[Wait]) -> Iterator[Wait]:
    """Without those that only wait for others to end, or in no code of the target, for work."""
    cycle = {wait.thread for wait in in_cycle(waits)}
    return (
        wait
        for wait in waits
        if wait.thread in cycle or (op_of(wait.point) is Op.WAIT and site_of(wait.point))
    )


def _tried(point: int) -> int:
    """A wait is an attempt to acquire; a join stays one."""
    return with_op(point, Op.ACQUIRE) if op_of(point) is Op.WAIT else point


class EventTimes:
    """When the events of some constraints happened in a run.

    Many runs are compared with one timeline, and few of their events matter: this reads only those.

    Attributes:
        counts: How many there were of each point of the constraints in each thread.
    """

    def __init__(self, run: RunFile, constraints: Iterable[Constraint]) -> None:
        points = {event.point for one in constraints for event in (one.before, one.hold)}
        self.counts: Counter[tuple[str, int]] = Counter()
        self._at: dict[EventKey, int] = {}
        paths = [thread.path for thread in run.threads]
        times = np.flatnonzero(np.isin(run.trace["point"], list(points)))
        some = run.trace[times]
        rows = zip(times.tolist(), some["thread"].tolist(), some["point"].tolist(), strict=True)
        for at, thread, point in rows:
            name = paths[thread], point
            self.counts[name] += 1
            self._at[*name, self.counts[name]] = at

    def breaks(self, constraint: Constraint) -> bool:
        """Whether the run does not keep one of the constraints."""
        return _breaks(self._at, constraint)

    def has(self, constraint: Constraint) -> bool:
        """Whether both events of one of the constraints happened."""
        return constraint.before.key in self._at and constraint.hold.key in self._at

    def could_keep(self, constraint: Constraint, leaves: Mapping[str, int]) -> bool:
        """Whether a rule could have kept a constraint that the run breaks.

        It could not if the earlier event was no longer to come when the later one was due: then
        waiting for it is in vain.

        Args:
            leaves: When each thread first did something else (`departures`).
        """
        if constraint.before.key in self._at:
            return True
        return not self._has_left(constraint.before.path, constraint.hold.key, leaves)

    def strays(self, constraints: Iterable[Constraint], leaves: Mapping[str, int]) -> bool:
        """Whether a thread did something else before it came to its events of the constraints."""
        events = (event for one in constraints for event in (one.before, one.hold))
        return any(self._has_left(event.path, event.key, leaves) for event in events)

    def _has_left(self, path: str, by: EventKey, leaves: Mapping[str, int]) -> bool:
        return path in leaves and leaves[path] <= self._at.get(by, leaves[path])


def departures(run: RunFile, other: RunFile) -> dict[str, int]:
    """When each thread of a run first did something that it did not do there in the other one."""
    wanted = _by_thread(other)
    found = {}
    for path, times in _by_thread(run).items():
        points = run.trace["point"][times]
        expected = other.trace["point"][wanted.get(path, times[:0])]
        length = min(len(points), len(expected))
        same = points[:length] == expected[:length]
        first = length if same.all() else int(same.argmin())
        if first < len(points):
            found[path] = int(times[first])
    return found


def _by_thread(run: RunFile) -> dict[str, npt.NDArray[np.intp]]:
    threads = run.trace["thread"]
    return {one.path: np.flatnonzero(threads == at) for at, one in enumerate(run.threads)}


def _breaks(times: Mapping[EventKey, int], constraint: Constraint) -> bool:
    """A run in which the later event does not happen breaks nothing."""
    hold = times.get(constraint.hold.key)
    if hold is None:
        return False
    before = times.get(constraint.before.key)
    return before is None or before > hold
