# SPDX-License-Identifier: Apache-2.0
"""Falcon's windows again, slow and obvious: the oracle for the native ones (3.1, algorithm 1).

One window per cell holds its latest accesses by alternating threads. Feeds on the events of the
tracker's twin. Time is the index of the event, as there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

import numpy as np
from tests.conformance.tracker_twin import Event, Kind

from unsnarl.model.pattern import FINE, PATTERN, PatternKind, Patterns


class Slot(NamedTuple):
    """An access that a window remembers."""

    thread: int
    point: int
    write: bool
    time: int

    @property
    def letter(self) -> str:
        return "W" if self.write else "R"


class PatternKey(NamedTuple):
    """What tells one pattern from another; the last point of a pair is 0."""

    kind: PatternKind
    first: int
    other: int
    last: int


class PatternValue(NamedTuple):
    """What a pattern keeps of its latest occurrence; the smallest span; how often it occurred."""

    first_thread: int
    other_thread: int
    first_time: int
    other_time: int
    last_time: int
    cell: int
    span: int
    times: int

    @property
    def age(self) -> tuple[int, int, int]:
        """Orders the occurrences of one pattern, whatever the order in which they were found."""
        return (self.other_time, self.first_time, self.last_time)


@dataclass
class Windows:
    """Feeds on events, leaves patterns. The last ones appear when the windows are drained."""

    size: int = 5
    windows: dict[int, list[Slot]] = field(default_factory=dict)
    patterns: dict[PatternKey, PatternValue] = field(default_factory=dict)
    time: int = 0

    def feed(self, events: Iterable[Event]) -> Windows:
        """Processes events in order. Lock operations (forced writes) have no windows."""
        for event in events:
            if event.kind in (Kind.RESET, Kind.INIT_WRITE):
                self._end(event.cell)
            if event.kind in (Kind.READ, Kind.WRITE, Kind.INIT_WRITE):
                self._access(event)
            self.time += 1
        return self

    def drain(self) -> Windows:
        """The end of the run."""
        for cell in list(self.windows):
            self._end(cell)
        return self

    def counts(self) -> dict[PatternKey, int]:
        """How often each pattern occurred."""
        return {key: value.times for key, value in self.patterns.items()}

    def rows(self) -> Patterns:
        """The patterns in the form in which analyses take them."""
        rows = np.zeros(len(self.patterns), dtype=PATTERN)
        for row, (key, value) in zip(rows, self.patterns.items(), strict=True):
            row["kind"], row["first_point"], row["other_point"], row["last_point"] = key
            for name in PatternValue._fields:
                row["count" if name == "times" else name] = getattr(value, name)
        return rows

    def _access(self, event: Event) -> None:
        slot = Slot(event.thread, event.point, event.kind != Kind.READ, self.time)
        window = self.windows.setdefault(event.cell, [])
        if window and window[-1].thread == slot.thread:
            if slot.write or not window[-1].write:
                window[-1] = slot
            return
        if len(window) == self.size:
            self._extract(event.cell, window)
            del window[0]
        window.append(slot)

    def _end(self, cell: int) -> None:
        window = self.windows.pop(cell, [])
        while window:
            self._extract(cell, window)
            del window[0]

    def _extract(self, cell: int, window: list[Slot]) -> None:
        for found in list(_triples(window)) or list(_pairs(window)):
            self._note(cell, found, span=window.index(found[-1]) + 1)

    def _note(self, cell: int, slots: tuple[Slot, ...], span: int) -> None:
        first, other = slots[:2]
        last = slots[2] if len(slots) == 3 else Slot(0, 0, False, 0)
        key = PatternKey(PatternKind[_letters(slots)], first.point, other.point, last.point)
        threads = (first.thread, other.thread)
        new = PatternValue(*threads, first.time, other.time, last.time, cell, span, 1)
        old = self.patterns.get(key, new._replace(times=0))
        latest = max(old, new, key=lambda value: value.age)
        self.patterns[key] = latest._replace(span=min(old.span, span), times=old.times + 1)


@dataclass
class Streak:
    """All that a thread did in a row: the access that Falcon keeps, the first one, a late read.

    And the first write, if it is none of them.
    """

    kept: Slot
    early: Slot | None = None
    late: Slot | None = None
    wrote: Slot | None = None


class FineKey(NamedTuple):
    """In gated runs patterns are told apart by their threads as well, and by their shape."""

    alternates: bool
    first: int
    other: int
    last: int
    first_thread: int
    other_thread: int


class FineValue(NamedTuple):
    """The smallest kind and span, the latest times and cell, and how often it was found."""

    kind: int
    span: int
    times: tuple[int, int, int]
    cell: int
    count: int


@dataclass
class FineWindows:
    """What gated runs keep beside Falcon's patterns; those are the ones with a kind below FINE."""

    size: int = 5
    reach: int = 16
    windows: dict[int, list[Streak]] = field(default_factory=dict)
    patterns: dict[FineKey, FineValue] = field(default_factory=dict)
    time: int = 0

    def feed(self, events: Iterable[Event]) -> FineWindows:
        """Processes events in order, then drains all windows."""
        for event in events:
            if event.kind in (Kind.RESET, Kind.INIT_WRITE):
                self._end(event.cell)
            if event.kind in (Kind.READ, Kind.WRITE, Kind.INIT_WRITE):
                self._access(event)
            self.time += 1
        for cell in list(self.windows):
            self._end(cell)
        return self

    def _access(self, event: Event) -> None:
        slot = Slot(event.thread, event.point, event.kind != Kind.READ, self.time)
        window = self.windows.setdefault(event.cell, [])
        if not window or window[-1].kept.thread != slot.thread:
            if len(window) == self.reach:
                self._extract(event.cell, window)
                del window[0]
            window.append(Streak(slot))
        elif window[-1].kept.write and not slot.write:
            window[-1].late = slot
        else:
            window[-1] = self._replaced(window[-1], slot)

    def _replaced(self, streak: Streak, slot: Slot) -> Streak:
        if streak.early is None:
            return Streak(slot, streak.kept)
        first = streak.kept.write and not streak.early.write
        return Streak(slot, streak.early, None, streak.wrote or (streak.kept if first else None))

    def _end(self, cell: int) -> None:
        window = self.windows.pop(cell, [])
        while window:
            self._extract(cell, window)
            del window[0]

    def _extract(self, cell: int, window: list[Streak]) -> None:
        first = window[0].kept.thread
        found = False
        for last in range(2, len(window)):
            for other in range(1, last):
                if window[last].kept.thread == first != window[other].kept.thread:
                    far = last >= self.size
                    found |= self._triple(cell, window, other, last, far=far)
        if not found and len(window) > 1:
            self._pair(cell, window[0], window[1], 2, fine=False)
        self._dependents(cell, window)

    def _triple(self, cell: int, window: list[Streak], other: int, last: int, *, far: bool) -> bool:
        plain = (window[0].kept, window[other].kept, window[last].kept)
        found = False
        for first in (window[0].kept, window[0].late):
            for middle in (window[other].kept, window[other].early):
                for end in (window[last].kept, window[last].early):
                    slots = (first, middle, end)
                    fine = far or slots != plain
                    if self._note(cell, slots, last + 1, fine=fine):
                        found |= not fine
        return found

    def _pair(self, cell: int, one: Streak, two: Streak, span: int, *, fine: bool) -> None:
        for first in (one.kept, one.late):
            for other in (two.kept, two.early, two.wrote):
                plain = (first, other) == (one.kept, two.kept)
                self._note(cell, (first, other), span, fine=fine or not plain)

    def _dependents(self, cell: int, window: list[Streak]) -> None:
        one = window[0]
        for at, two in enumerate(window[1:], 1):
            if two.kept.thread != one.kept.thread:
                self._pair(cell, one, two, at + 1, fine=True)
                self._gaps(cell, one, two, at + 1)
            if two.kept.write:
                return

    def _gaps(self, cell: int, one: Streak, two: Streak, span: int) -> None:
        reader = two.early or two.kept
        if one.early and one.early.write and one.kept.write and not reader.write:
            slots = (one.early, one.kept, reader)
            self._note(cell, slots, span, fine=True, kind=PatternKind.UNREAD)
        if two.early and one.kept.write and not two.early.write and not two.kept.write:
            slots = (one.kept, two.early, two.kept)
            self._note(cell, slots, span, fine=True, kind=PatternKind.REREAD)

    def _note(
        self,
        cell: int,
        slots: tuple[Slot | None, ...],
        span: int,
        *,
        fine: bool,
        kind: PatternKind | None = None,
    ) -> bool:
        there = tuple(slot for slot in slots if slot is not None)
        if len(there) < len(slots):
            return False
        kind = kind or PatternKind.__members__.get(_letters(there))
        if kind is None:
            return False
        points = [slot.point for slot in there] + [0] * (3 - len(there))
        times = [slot.time for slot in there] + [0] * (3 - len(there))
        others = [slot.thread for slot in there if slot.thread != there[0].thread]
        alternates = kind < PatternKind.UNREAD
        key = FineKey(alternates, points[0], points[1], points[2], there[0].thread, others[0])
        new = FineValue(kind + FINE * fine, span, (times[0], times[1], times[2]), cell, 1)
        old = self.patterns.get(key, new._replace(count=0))
        latest = max((old, new), key=lambda one: (one.times[1], one.times[0], one.times[2]))
        self.patterns[key] = FineValue(
            min(old.kind, new.kind),
            min(old.span, new.span),
            latest.times,
            latest.cell,
            old.count + 1,
        )
        return True


class Execution(NamedTuple):
    """A row of Falcon's figure 1(b): both accesses columns, then both simplified ones."""

    x: str
    y: str
    simplified_x: str
    simplified_y: str


X, Y = 0x1000, 0x1008

# The last of the four runs fails, the others pass. Statement 3 reads both variables.
_X_BY_3 = ("R1,1-W1,1-R3,6-W3,6-R2,4-R1,3", "W1,1-W3,6-R2,4-R1,3")
_X_BY_2 = ("R1,1-W1,1-R2,4-W2,4-R3,6-R1,3", "W1,1-W2,4-R3,6-R1,3")
_Y_BY_3 = ("R1,2-W1,2-R3,7-W3,7-R2,5-R1,3", "W1,2-W3,7-R2,5-R1,3")
_Y_BY_2 = ("R1,2-W1,2-R2,5-W2,5-R3,7-R1,3", "W1,2-W2,5-R3,7-R1,3")
FIGURE_1 = tuple(
    Execution(x[0], y[0], x[1], y[1])
    for x, y in [(_X_BY_3, _Y_BY_3), (_X_BY_3, _Y_BY_2), (_X_BY_2, _Y_BY_3), (_X_BY_2, _Y_BY_2)]
)


def accesses(trace: str, cell: int = X) -> list[Event]:
    """From the paper's way of writing: "R1,1-W3,6" is a read by 1 at 1, then a write by 3 at 6."""
    events = []
    for access in trace.split("-"):
        thread, point = access[1:].split(",")
        kind = Kind.WRITE if access[0] == "W" else Kind.READ
        events.append(Event(int(thread), int(point), cell, kind))
    return events


def figure_1(execution: Execution) -> list[Event]:
    """One execution of figure 1. Only the order within a variable matters to a window."""
    return [*accesses(execution.x, X), *accesses(execution.y, Y)]


def written(window: list[Slot]) -> str:
    """A window in the paper's way of writing."""
    return "-".join(f"{slot.letter}{slot.thread},{slot.point}" for slot in window)


def _triples(window: list[Slot]) -> Iterator[tuple[Slot, ...]]:
    """Table 2: unserialisable, from the oldest slot on."""
    first = window[0]
    for other, last in combinations(window[1:], 2):
        if other.thread != first.thread and last.thread == first.thread:
            triple = (first, other, last)
            if _letters(triple) in PatternKind.__members__:
                yield triple


def _pairs(window: list[Slot]) -> Iterator[tuple[Slot, ...]]:
    """Table 1: a conflict of the oldest slot with the one after it."""
    pair = tuple(window[:2])
    if len(pair) == 2 and _letters(pair) in PatternKind.__members__:
        yield pair


def _letters(slots: tuple[Slot, ...]) -> str:
    return "".join(slot.letter for slot in slots)
