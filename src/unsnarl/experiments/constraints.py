# SPDX-License-Identifier: Apache-2.0
"""Constraints: this occurrence of a point in one thread before that occurrence in another.

They are read off the trace of a failing run. Each becomes one rule of the gate: the thread of the
later event is held until the earlier one has happened. Where it is held is chosen so that the
failing run itself keeps the rule: any set of such rules can be kept, because that run kept all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unsnarl.model.site import CALL_REACH, Op
from unsnarl.runfile import RunFile

# By their numbers: to make an enumeration's member of a number takes ten times as long.
_OPS = tuple(Op)

Key = tuple[str, int, int]
Rule = dict[str, Any]  # for the gate (native/gate/rules.c)


class Event(NamedTuple):
    """One event of a trace: the `occurrence`-th of its point in its thread."""

    at: int
    path: str
    point: int
    occurrence: int
    cell: int

    @property
    def key(self) -> Key:
        """What it is called in every run."""
        return (self.path, self.point, self.occurrence)

    @property
    def site(self) -> int:
        """Its site; 0 where no code of the target is on the stack."""
        return self.point >> 4

    @property
    def op(self) -> Op:
        """What was done."""
        return _OPS[self.point & 15]

    @property
    def writes(self) -> bool:
        """Whether it changes its cell; lock operations do."""
        return self.op is not Op.READ

    @property
    def is_access(self) -> bool:
        """Whether it is about data rather than about a lock or a thread."""
        return not self.op.is_sync


class Constraint(NamedTuple):
    """`before` comes before `after`; `hold` is where the later thread waits for it."""

    before: Event
    after: Event
    hold: Event

    @property
    def rule(self) -> Rule:
        """The rule that makes it so."""
        return {"when": None, "hold": _match(self.hold), "until": _match(self.before), "limit": 0}

    @property
    def key(self) -> tuple[Key, Key]:
        """Constraints with the same key have the same effect."""
        return self.before.key, self.hold.key

    @property
    def is_named(self) -> bool:
        """Whether all is in the target's code; rules and traces count other events differently."""
        return all(event.site for event in self)


def _match(event: Event) -> dict[str, object]:
    return {
        "who": "any",
        "points": [event.point],
        "path": event.path,
        "occurrence": event.occurrence,
    }


class Timeline:
    """The events of one traced run in the order of time; acquires that never came back are last.

    Attributes:
        events: All of them.
        pending: Those that never came back.
        counts: How many there were of each point in each thread.
    """

    def __init__(self, run: RunFile, trace: npt.NDArray[Any] | None = None) -> None:
        """`trace` replaces that of the run: rows of it."""
        rows = run.trace if trace is None else trace
        paths = [thread.path for thread in run.threads]
        self.events: list[Event] = []
        self.counts: Counter[tuple[str, int]] = Counter()
        for _, cell, point, thread, _ in rows.tolist():
            self._add(paths[thread], point, cell)
            self.counts[paths[thread], point] += 1
        self.pending = [
            self._add(paths[wait.thread], wait.point & ~15 | Op.ACQUIRE, wait.object)
            for wait in run.waits
            if wait.point & 15 == Op.WAIT
        ]
        heads = {site for _, site, _, head, *_ in run.counts.tolist() if site == head}
        self._walk = _Walk(self.events, heads)
        self._at = {event.key: event.at for event in self.events[: len(rows)]}

    def _add(self, path: str, point: int, cell: int) -> Event:
        occurrence = self.counts[path, point] + 1
        self.events.append(Event(len(self.events), path, point, occurrence, cell))
        return self.events[-1]

    def constraint(self, before: Event, after: Event) -> Constraint | None:
        """The constraint between two events; None if the later thread cannot be held for it.

        A hold is lifted to the outermost lock around the access (design 8), but not beyond the
        earlier event: that one happened while the outer locks were held, and needs none of them.
        """
        hold = self._hold(after, before.at)
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
        around: list[int] = []
        if event.is_access or event.op is Op.RELEASE:
            around = [at for at in self._walk.around[event.at] if at > since]
        return self._walk.heads[around[0] if around else event.at]

    def around(self, event: Event) -> list[Event]:
        """The acquires whose locks are held there, outermost first; those of signals are not."""
        return [self.events[at] for at in self._walk.around[event.at]]

    def breaks(self, constraint: Constraint) -> bool:
        """Whether this run does not keep a constraint of another one."""
        return _breaks(self._at, constraint)

    def meaning(self, event: Event) -> Event:
        """What a person should read: a lock that a library takes inside a call is the call."""
        call = None if event.is_access else self._walk.calls[event.at]
        return event if call is None else self.events[call]._replace(at=event.at)

    def find(self, key: Key) -> Event | None:
        """The event of that name, if it happened in this run."""
        at = self._at.get(key)
        return None if at is None else self.events[at]

    def failing(self, path: str) -> list[Event]:
        """Where it failed: the threads' pending acquires, or a thread's last access."""
        if self.pending:
            return self.pending
        return [event for event in self.events if event.path == path and event.is_access][-1:]


class Moments:
    """When the events of some constraints came about in a run.

    It is for the many runs that are held against one timeline: most of their events say nothing.

    Attributes:
        counts: How many there were of each point of the constraints in each thread.
    """

    def __init__(self, run: RunFile, constraints: Iterable[Constraint]) -> None:
        points = {event.point for one in constraints for event in (one.before, one.hold)}
        self.counts: Counter[tuple[str, int]] = Counter()
        self._at: dict[Key, int] = {}
        paths = [thread.path for thread in run.threads]
        places = np.flatnonzero(np.isin(run.trace["point"], list(points)))
        some = run.trace[places]
        rows = zip(places.tolist(), some["thread"].tolist(), some["point"].tolist(), strict=True)
        for at, thread, point in rows:
            name = paths[thread], point
            self.counts[name] += 1
            self._at[*name, self.counts[name]] = at

    def breaks(self, constraint: Constraint) -> bool:
        """Whether the run does not keep one of the constraints."""
        return _breaks(self._at, constraint)

    def has(self, constraint: Constraint) -> bool:
        """Whether both events of one of the constraints came about."""
        return constraint.before.key in self._at and constraint.hold.key in self._at

    def could_keep(self, constraint: Constraint, leaves: Mapping[str, int]) -> bool:
        """Whether a rule could have kept a constraint that the run breaks.

        It could not if the earlier event was not to come any more when the later one was due: to
        wait for it is in vain.

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

    def _has_left(self, path: str, by: Key, leaves: Mapping[str, int]) -> bool:
        return path in leaves and leaves[path] <= self._at.get(by, leaves[path])


def departures(run: RunFile, other: RunFile) -> dict[str, int]:
    """When each thread of a run first did something that it did not do there in the other one."""
    wanted = _by_thread(other)
    found = {}
    for path, places in _by_thread(run).items():
        points = run.trace["point"][places]
        known = other.trace["point"][wanted.get(path, places[:0])]
        length = min(len(points), len(known))
        same = points[:length] == known[:length]
        first = length if same.all() else int(same.argmin())
        if first < len(points):
            found[path] = int(places[first])
    return found


def _by_thread(run: RunFile) -> dict[str, npt.NDArray[np.intp]]:
    threads = run.trace["thread"]
    return {one.path: np.flatnonzero(threads == at) for at, one in enumerate(run.threads)}


def _breaks(times: Mapping[Key, int], constraint: Constraint) -> bool:
    """A run in which the later event does not come about breaks nothing."""
    hold = times.get(constraint.hold.key)
    if hold is None:
        return False
    before = times.get(constraint.before.key)
    return before is None or before > hold


class _Walk:
    """Follows the threads through a trace.

    Attributes:
        around: By event: the acquires that are open there, outermost first.
        heads: By event: the last one, or itself, at which its thread could be held.
        calls: By event: the call in which a library does it.
    """

    def __init__(self, events: Sequence[Event], heads: AbstractSet[int]) -> None:
        self._switches = heads
        self._signals = _signals(events)
        self._locks: dict[str, dict[int, int]] = {}
        self._head: dict[str, int] = {}
        self._access: dict[str, Event] = {}
        self._taken: dict[str, Event] = {}  # the last acquire since the last access
        self.around: list[tuple[int, ...]] = []
        self.heads: list[int | None] = []
        self.calls: list[int | None] = []
        for event in events:
            self._describe(event)
            self._follow(event)

    def _describe(self, event: Event) -> None:
        if self._can_be_held(event):
            self._head[event.path] = event.at
        self.around.append(tuple(self._locks.get(event.path, {}).values()))
        self.heads.append(self._head.get(event.path))
        self.calls.append(self._call_around(event))

    def _follow(self, event: Event) -> None:
        mine = self._locks.setdefault(event.path, {})
        if event.is_access:
            self._access[event.path] = event
            self._taken.pop(event.path, None)
        elif event.op is Op.ACQUIRE:
            self._taken[event.path] = event
            if event.cell not in self._signals:
                mine.setdefault(event.cell, event.at)
        elif event.op is Op.RELEASE:
            mine.pop(event.cell, None)

    def _can_be_held(self, event: Event) -> bool:
        """In gil mode a thread is not asked at every access, and the locks that a library takes
        one after the other in a call are taken at once, if they are free (gate/lock.c)."""
        if event.op is not Op.ACQUIRE:
            return event.op is Op.JOIN or (event.is_access and event.site in self._switches)
        last = self._taken.get(event.path)
        goes_on = last is not None and last.point == event.point and last.cell != event.cell
        return bool(event.site) and not goes_on

    def _call_around(self, event: Event) -> int | None:
        last = self._access.get(event.path)
        if last is None or last.op is not Op.CALL:
            return None
        return last.at if 0 <= event.site - last.site <= CALL_REACH else None


def _signals(events: Sequence[Event]) -> set[int]:
    """Locks that one thread takes and another releases: they order, but they guard nothing."""
    taken: dict[int, str] = {}
    found: set[int] = set()
    for event in events:
        if event.op is Op.ACQUIRE:
            taken[event.cell] = event.path
        elif event.op is Op.RELEASE and taken.get(event.cell, event.path) != event.path:
            found.add(event.cell)
    return found
