# SPDX-License-Identifier: Apache-2.0
"""Which locks threads hold at their events, and what the program calls these locks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from unsnarl.model.event import Event, EventKey, Op, op_of
from unsnarl.model.site import CALL_REACH
from unsnarl.runfile import RunFile

UNNAMED = "a lock"


class TakenLock(NamedTuple):
    """A lock that a thread holds, by its cell, and the point at which it was taken."""

    cell: int
    point: int


class LockWalk:
    """Follows the threads through a trace and keeps track of their locks: the only such walk.

    Attributes:
        around: By event: the acquires whose locks are held there, outermost first.
        heads: By event: the last one, or itself, at which its thread could be held. One operation
            may have several accesses: its thread can be held before the first of them only.
        calls: By event: the call of a library that does it.
    """

    def __init__(
        self,
        events: Sequence[Event],
        heads: AbstractSet[int],
        follows: AbstractSet[int] = frozenset(),
    ) -> None:
        self._switches = heads
        self._follows = follows
        self._no_guards = _signals(events)
        self._left = _left_behind(events)
        self._locks: dict[str, dict[int, int]] = {}
        self._head: dict[str, int] = {}
        self._access: dict[str, Event] = {}
        self._taken: dict[str, Event] = {}  # the last acquire since the last access
        self._before = ""  # whose event was the one before
        self.around: list[tuple[int, ...]] = []
        self.heads: list[int | None] = []
        self.calls: list[int | None] = []
        for event in events:
            # What holds before the event comes first: an acquire is not inside its own lock.
            self._describe(event)
            self._follow(event)
            self._before = event.path

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
            for locks in self._locks.values():
                locks.pop(event.cell, None)  # nobody else has it; addresses are used again
            # A hold lifted to a signal would not free anything that the other thread needs.
            if event.at not in self._no_guards and not self._is_dropped(event):
                mine[event.cell] = event.at
        elif event.op is Op.RELEASE:
            mine.pop(event.cell, None)

    def _is_dropped(self, event: Event) -> bool:
        """Whether a library takes a lock only to drop it: a wait with a time limit ends so."""
        return event.at in self._left and self.calls[event.at] is not None

    def _can_be_held(self, event: Event) -> bool:
        """Whether its thread comes to the gate there.

        In gil mode a thread does not at every access, and the locks that a library takes one after
        the other in a call are taken at once, if they are free (native/gate/lock.c). Where others
        came in between, this one was not: so a wait for a condition takes its mutex back.
        """
        if event.op is not Op.ACQUIRE:
            stops = event.is_access and event.site in self._switches
            return event.op is Op.JOIN or (stops and event.at not in self._follows)
        last = self._taken.get(event.path)
        goes_on = last is not None and last.point == event.point and last.cell != event.cell
        return bool(event.site) and not (goes_on and self._before == event.path)

    def _call_around(self, event: Event) -> int | None:
        last = self._access.get(event.path)
        if last is None or last.op is not Op.CALL:
            return None
        return last.at if 0 <= event.site - last.site <= CALL_REACH else None


def _signals(events: Sequence[Event]) -> set[int]:
    """The acquires of locks that another thread releases: they order, but they guard nothing.

    So is what a waiter of C gets when it is let go: it had the lock from the beginning, unseen.
    """
    found: set[int] = set()
    for life in _lives(events):
        taker = ""
        if [event.op for event in life] == [Op.RELEASE, Op.ACQUIRE]:
            taker = life[1].path
        for event in life:
            if event.op is Op.ACQUIRE:
                taker = event.path
            elif event.path != (taker or event.path):
                found.update(one.at for one in life if one.op is Op.ACQUIRE)
    return found


def _left_behind(events: Sequence[Event]) -> set[int]:
    """The acquires of locks that were never given back, nor touched by anybody else."""
    return {life[0].at for life in _lives(events) if len(life) == 1}


def _lives(events: Sequence[Event]) -> list[list[Event]]:
    """What was done to each lock. Its cell is an address, and the next lock may get the same.

    That one has begun where a lock is taken that is taken.
    """
    lives: list[list[Event]] = []
    now: dict[int, list[Event]] = {}
    for event in events:
        if event.op not in (Op.ACQUIRE, Op.RELEASE):
            continue
        life = now.get(event.cell)
        if life is None or event.op is Op.ACQUIRE is life[-1].op:
            life = now[event.cell] = []
            lives.append(life)
        life.append(event)
    return lives


def lock_names(run: RunFile, held: Mapping[EventKey, Sequence[TakenLock]]) -> dict[int, str]:
    """The program's own names of locks by their cells, which a capture does not know.

    A name goes to the cell that is held whenever the lock of that name is, and only then.

    Args:
        run: A capture.
        held: The locks held at the events of the same run, as a trace shows them.
    """
    cells: Counter[int] = Counter()
    locks: Counter[int] = Counter()
    both: Counter[tuple[int, int]] = Counter()
    names: dict[int, str] = {}
    for capture in run.captures:
        if op_of(capture.point).is_sync:
            continue  # it is about the lock itself, and has none of those around it
        mine = {lock.cell for lock in held.get(capture.key, ())}
        numbers = {lock.number: lock.name for lock in capture.locks}
        names |= numbers
        cells.update(mine)
        locks.update(numbers.keys())
        both.update((cell, lock) for cell in mine for lock in numbers)
    return {
        cell: names[lock]
        for (cell, lock), count in both.items()
        if count == cells[cell] == locks[lock] and names[lock] != UNNAMED
    }
