# SPDX-License-Identifier: Apache-2.0
"""Constraints: this occurrence of a point in one thread before that occurrence in another.

They are read off the trace of a failing run. Each becomes one rule of the gate: the thread of the
later event is held until the earlier one has happened. Where it is held is chosen so that the
failing run itself keeps the rule: any set of such rules can be kept, because that run kept all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from unsnarl.experiments.rules import Rule
from unsnarl.model.site import Op
from unsnarl.runfile import RunFile

# A call's own instruction comes so closely after the look-up of the method (gate/lock.c).
CALL_REACH = 40

Key = tuple[str, int, int]


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
    def op(self) -> Op:
        """What was done."""
        return Op(self.point & 15)

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


def _match(event: Event) -> dict[str, object]:
    return {
        "who": "any",
        "points": [event.point],
        "path": event.path,
        "occurrence": event.occurrence,
    }


class Timeline:
    """The events of one traced run in the order of time; acquires that never came back are last."""

    def __init__(self, run: RunFile) -> None:
        self.events: list[Event] = []
        self._paths = [thread.path for thread in run.threads]
        self._seen: Counter[tuple[str, int]] = Counter()
        for _, cell, point, thread, _ in run.trace.tolist():
            self._add(self._paths[thread], point, cell)
            self._seen[self._paths[thread], point] += 1
        self.pending = [
            self._add(self._paths[wait.thread], wait.point & ~15 | Op.ACQUIRE, wait.object)
            for wait in run.waits
            if wait.point & 15 == Op.WAIT
        ]
        heads = {site for _, site, _, head, *_ in run.counts.tolist() if site == head}
        walk = _Walk(self.events, heads)
        self._around, self._heads, self._calls = walk.around, walk.heads, walk.calls
        self._at = {event.key: event.at for event in self.events[: len(run.trace)]}

    def _add(self, path: str, point: int, cell: int) -> Event:
        occurrence = self._seen[path, point] + 1
        self.events.append(Event(len(self.events), path, point, occurrence, cell))
        return self.events[-1]

    def constraint(self, before: Event, after: Event) -> Constraint | None:
        """The constraint between two events; None if the later thread cannot be held for it.

        A hold is lifted to the outermost lock around the access (design 8), but not beyond the
        earlier event: that one happened while the outer locks were held, and needs none of them.
        """
        hold = self._heads[after.at]
        if after.is_access or after.op is Op.RELEASE:
            around = [self._heads[at] for at in self._around[after.at] if at > before.at]
            hold = around[0] if around else hold
        if hold is None or hold <= before.at:
            return None
        return Constraint(before, after, self.events[hold])

    def inverse(self, constraint: Constraint) -> Constraint:
        """The other way round: the earlier thread waits until the later event has happened."""
        at = constraint.before.at
        around = self._around[at] if constraint.before.is_access else ()
        hold = self._heads[around[0] if around else at]
        held = constraint.before if hold is None else self.events[hold]
        return Constraint(constraint.after, constraint.before, held)

    def meaning(self, event: Event) -> Event:
        """What a person should read: a lock that a library takes inside a call is the call."""
        call = None if event.is_access else self._calls[event.at]
        return event if call is None else self.events[call]._replace(at=event.at)

    def constraints(self, pairs: Iterable[tuple[Event, Event]]) -> Iterator[Constraint]:
        """The constraints between pairs of events, where there is one."""
        for before, after in pairs:
            found = self.constraint(before, after)
            if found is not None:
                yield found

    def breaks(self, constraint: Constraint) -> bool:
        """Whether this run does not keep a constraint of another one."""
        hold = self._at.get(constraint.hold.key)
        if hold is None:
            return False
        before = self._at.get(constraint.before.key)
        return before is None or before > hold

    def find(self, key: Key) -> Event | None:
        """The event of that name, if it happened in this run."""
        at = self._at.get(key)
        return None if at is None else self.events[at]

    def of(self, path: str) -> Iterator[Event]:
        """The events of one thread."""
        return (event for event in self.events if event.path == path)

    def failing(self, path: str) -> list[Event]:
        """Where it failed: the threads' pending acquires, or a thread's last access."""
        if self.pending:
            return self.pending
        return [event for event in self.of(path) if event.is_access][-1:]


class _Walk:
    """Follows the threads through a trace: what locks each holds, and where it could be held."""

    def __init__(self, events: Sequence[Event], heads: AbstractSet[int]) -> None:
        self._heads = heads
        self._signals = _signals(events)
        self._locks: dict[str, dict[int, int]] = {}
        self._head: dict[str, int] = {}
        self._taken: dict[str, Event] = {}  # the last acquire since the last access
        self._access: dict[str, Event] = {}
        self.around: list[tuple[int, ...]] = []
        self.heads: list[int | None] = []
        self.calls: list[int | None] = []
        for event in events:
            self._follow(event)

    def _follow(self, event: Event) -> None:
        mine = self._locks.setdefault(event.path, {})
        if self._can_be_held(event):
            self._head[event.path] = event.at
        self.around.append(tuple(mine.values()))
        self.heads.append(self._head.get(event.path))
        self.calls.append(self._call_around(event))
        if event.op is Op.ACQUIRE and event.cell not in self._signals:
            mine.setdefault(event.cell, event.at)
        elif event.op is Op.RELEASE:
            mine.pop(event.cell, None)
        if event.is_access:
            self._access[event.path] = event
            self._taken.pop(event.path, None)
        elif event.op is Op.ACQUIRE:
            self._taken[event.path] = event

    def _can_be_held(self, event: Event) -> bool:
        """In gil mode a thread is not asked at every access, and the locks that a library takes
        one after the other in a call are taken at once, if they are free (gate/lock.c)."""
        if event.op is not Op.ACQUIRE:
            return event.op is Op.JOIN or (event.is_access and event.point >> 4 in self._heads)
        last = self._taken.get(event.path)
        goes_on = last is not None and last.point == event.point and last.cell != event.cell
        return bool(event.point >> 4) and not goes_on

    def _call_around(self, event: Event) -> int | None:
        last = self._access.get(event.path)
        if last is None or last.op is not Op.CALL:
            return None
        return last.at if 0 <= (event.point >> 4) - (last.point >> 4) <= CALL_REACH else None


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
