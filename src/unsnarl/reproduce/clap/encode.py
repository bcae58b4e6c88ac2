# SPDX-License-Identifier: Apache-2.0
"""From histories to an order problem, with clock markers as in ReCBuLC's figure 8."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from operator import itemgetter

import msgspec

from unsnarl.model.event import Op
from unsnarl.model.record import Recorded
from unsnarl.recording.clocks.ranges import Clocks
from unsnarl.reproduce.clap.histories import History, LoggedEvent, Touched
from unsnarl.reproduce.orders import Kind, OrderEvent, OrderProblem, problem_of
from unsnarl.reproduce.pres.base import FENCED

# No two stamps are further apart: clocks of cores whose skew is not known prove nothing.
FAR = 1 << 60
# The clock was read after these; before all others.
AFTER = (Op.ACQUIRE, Op.BEGIN, Op.JOIN)

Position = tuple[int, int]  # a thread, and its how-manieth event


@dataclass(frozen=True, eq=False)
class Encoded:
    """An order problem, and which event of which thread each of its events is of.

    Attributes:
        positions: By event of the problem; clock markers belong to the event that they are of.
        accesses: Reads and writes of cells that more than one thread touches.
    """

    problem: OrderProblem
    positions: list[Position]
    accesses: int


class Ticks(msgspec.Struct, frozen=True):
    """The clocks of a record as the problem knows them: each core twice, behind a fence and not.

    Attributes:
        ahead: As of OrderProblem.
        core: The number of (core, fenced).
    """

    ahead: list[list[int]]
    core: dict[tuple[int, bool], int]


def ticks(histories: Sequence[History], how: Recorded, clocks: Clocks | None) -> Ticks:
    """What the stamps of these histories prove."""
    events = [did for history in histories for did in history.events]
    stamped = {(did.core, did.op in FENCED) for did in events if did.stamp}
    cores = sorted(stamped | {(core, False) for did in events for _, core in did.marks})
    ahead = [[_high(how, clocks, one, other) for other in cores] for one in cores]
    return Ticks(ahead, {core: at for at, core in enumerate(cores)})


def _high(
    how: Recorded, clocks: Clocks | None, first: tuple[int, bool], second: tuple[int, bool]
) -> int:
    # Between two threads on one core the kernel switched, which is fence enough.
    if how.order == "global" or first[0] == second[0]:
        return 0
    found = clocks.range(first[0], second[0]) if clocks is not None else None
    unfenced = 0 if how.fenced else how.slack * ((not first[1]) + (not second[1]))
    return FAR if found is None else found.high + unfenced


@dataclass
class _Encoder:
    """Makes the events of a problem from those of the threads."""

    histories: Sequence[History]
    clocks: Ticks | None
    in_turn: bool
    cells: dict[int, int] = field(default_factory=dict)
    locks: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.index = {history.path: at for at, history in enumerate(self.histories)}
        self.shared = _shared(self.histories)
        self.mutexes = _mutexes(self.histories)
        self.ended = {
            one.touched[0].cell: at
            for at, history in enumerate(self.histories)
            for one in history.events
            if one.op == Op.END and one.touched
        }
        self.handoffs = _handoffs(self.histories, self.mutexes)
        self.turns = _turns(self.histories) if self.in_turn else {}

    def thread(self, at: int) -> Iterator[tuple[OrderEvent, int]]:
        """The problem's events of a thread, each with the number of the thread's own event."""
        children = 0
        path = self.histories[at].path
        held: dict[int, int] = defaultdict(int)
        for position, did in enumerate(self.histories[at].events):
            marker = self._marker(did)
            if marker is not None and did.op not in AFTER:
                yield marker, position
            if did.op == Op.START:
                children += 1
                child = self.index.get(f"{path}.{children}")
                if child is not None:
                    yield OrderEvent(Kind.START, child), position
            for event in self._events(at, position, did, held):
                yield event, position
            if marker is not None and did.op in AFTER:
                yield marker, position
            for mark in self._marks(did):
                yield mark, position

    def _marker(self, did: LoggedEvent) -> OrderEvent | None:
        if self.clocks is None or not did.stamp:
            return None
        return OrderEvent(Kind.CLOCK, self.clocks.core[did.core, did.op in FENCED], did.stamp)

    def _marks(self, did: LoggedEvent) -> Iterator[OrderEvent]:
        """Of functions and loops that came after it."""
        if self.clocks is not None:
            for stamp, core in did.marks:
                yield OrderEvent(Kind.CLOCK, self.clocks.core[core, False], stamp)

    def _events(
        self, at: int, position: int, did: LoggedEvent, held: dict[int, int]
    ) -> Iterator[OrderEvent]:
        if did.op in (Op.READ, Op.WRITE):
            yield from self._accesses([one for one in did.touched if one.cell in self.shared])
        elif (at, position) in self.turns:
            thing, turn = self.turns[at, position]
            yield OrderEvent(Kind.READ, self._cell(thing), turn)
            yield OrderEvent(Kind.WRITE, self._cell(thing), turn + 1)
        elif did.op in (Op.ACQUIRE, Op.RELEASE) and did.touched:
            yield from self._lock(did, held)
            if (at, position) in self.handoffs:
                # Cells of our own are below 0: odd ones are hand-offs, even ones turns (`_turns`).
                lock = -1 - 2 * self.handoffs[at, position]
                kind = Kind.WRITE if did.op == Op.RELEASE else Kind.READ
                yield OrderEvent(kind, self._cell(lock), 1)
        elif did.op == Op.BEGIN and at:
            yield OrderEvent(Kind.BEGIN, at)
        elif did.op == Op.END:
            yield OrderEvent(Kind.END, at)
        elif did.op == Op.JOIN and did.touched:
            ended = self.ended.get(did.touched[0].cell)
            if ended is not None and ended != at:
                yield OrderEvent(Kind.JOIN, ended)

    def _cell(self, cell: int) -> int:
        return self.cells.setdefault(cell, len(self.cells))

    def _accesses(self, touched: list[Touched]) -> Iterator[OrderEvent]:
        """Nobody comes between what a container's method finds and what it leaves."""
        found = next((one for one in touched if one.op == Op.READ), None)
        left = next((one for one in touched if one.op == Op.WRITE), None)
        if found is None or left is None or found.cell != left.cell:
            yield from map(self._access, touched)
        elif found.value is not None and found.value == left.value:
            yield self._access(found)  # a method that failed, as far as the log shows
        else:
            # Below 0, so it cannot be one of the program's own locks.
            lock = self.locks.setdefault(~found.cell, len(self.locks))
            yield OrderEvent(Kind.ACQUIRE, lock)
            yield from map(self._access, touched)
            yield OrderEvent(Kind.RELEASE, lock)

    def _access(self, one: Touched) -> OrderEvent:
        return OrderEvent(Kind(int(one.op)), self._cell(one.cell), one.value)

    def _lock(self, did: LoggedEvent, held: dict[int, int]) -> Iterator[OrderEvent]:
        """Of a lock that is taken again by its owner only the outermost time counts."""
        lock = did.touched[0].cell
        if lock not in self.mutexes:
            return
        before = held[lock]
        held[lock] += 1 if did.op == Op.ACQUIRE else -1
        if not before or not held[lock]:
            kind = Kind.ACQUIRE if did.op == Op.ACQUIRE else Kind.RELEASE
            yield OrderEvent(kind, self.locks.setdefault(lock, len(self.locks)))


def encode(
    histories: Sequence[History],
    clocks: Ticks | None,
    in_turn: bool = True,
    by_time: bool = False,
) -> Encoded:
    """The order problem of these histories; without clocks if there are none.

    Args:
        in_turn: Calls of libraries on one object, of which nothing else is known, keep the order of
            their times: a guess.
        by_time: The same for cells some of whose values are not known, and for what was there at
            the beginning.
    """
    histories = _versioned(histories) if by_time else histories
    encoder = _Encoder(histories, clocks, in_turn)
    threads: list[list[OrderEvent]] = []
    positions: list[Position] = []
    for at in range(len(histories)):
        rows = list(encoder.thread(at))
        threads.append([event for event, _ in rows])
        positions += [(at, position) for _, position in rows]
    threads = _without_riddles(threads)
    # Of our own cells, unlike the program's, it is certain what they held at first.
    initial = {number: 0 for cell, number in encoder.cells.items() if cell < 0}
    if by_time:
        initial |= _first_values(histories, encoder.cells)
    problem = problem_of(threads, initial, clocks.ahead if clocks and clocks.ahead else [[0]])
    return Encoded(problem, positions, len(problem.of(Kind.READ, Kind.WRITE)))


def _without_riddles(threads: list[list[OrderEvent]]) -> list[list[OrderEvent]]:
    """A value that no known write can have left came from one that is not known, and says nothing.

    One such value may be the cell's first. Writes that are not known get values nobody reads.
    """
    written: dict[int, set[int]] = defaultdict(set)
    strange: dict[int, set[int]] = defaultdict(set)
    events = [event for listed in threads for event in listed]
    for event in events:
        if event.kind == Kind.WRITE and event.value is not None:
            written[event.object].add(event.value)
    for event in events:
        if event.kind == Kind.READ and event.value not in {None, *written[event.object]}:
            strange[event.object].add(event.value or 0)
    doubtful = {one.object for one in events if one.kind == Kind.WRITE and one.value is None}
    doubtful |= {cell for cell, values in strange.items() if len(values) > 1}
    used = {event.value for event in events}
    fresh = (number for number in count(1 << 62) if number not in used)
    return [[_plain(event, doubtful, strange, fresh) for event in listed] for listed in threads]


def _plain(
    event: OrderEvent, doubtful: set[int], strange: Mapping[int, set[int]], fresh: Iterator[int]
) -> OrderEvent:
    if event.kind == Kind.WRITE and event.value is None:
        return event._replace(value=next(fresh))
    if (
        event.kind == Kind.READ
        and event.object in doubtful
        and event.value in strange[event.object]
    ):
        return event._replace(value=None)
    return event


def _versioned(histories: Sequence[History]) -> list[History]:
    """With version numbers by time for the values of all cells that have unknown ones."""
    doubtful = {
        one.cell
        for history in histories
        for did in history.events
        for one in (did.touched if did.op in (Op.READ, Op.WRITE) else ())
        if one.value is None
    }
    times = sorted(
        (did.time, at, position)
        for at, history in enumerate(histories)
        for position, did in enumerate(history.events)
        if did.op in (Op.READ, Op.WRITE)
    )
    events = [list(history.events) for history in histories]
    version: dict[int, int] = defaultdict(int)
    for _, at, position in times:
        did = events[at][position]
        touched = tuple(
            _version(one, version) if one.cell in doubtful else one for one in did.touched
        )
        events[at][position] = msgspec.structs.replace(did, touched=touched)
    return [
        msgspec.structs.replace(history, events=tuple(own))
        for history, own in zip(histories, events, strict=True)
    ]


def _version(one: Touched, version: dict[int, int]) -> Touched:
    version[one.cell] += one.op == Op.WRITE
    return msgspec.structs.replace(one, value=version[one.cell])


def _first_values(histories: Sequence[History], cells: Mapping[int, int]) -> dict[int, int]:
    """What the cells probably held at the beginning, of those from which only written values are
    read: what the first access found, or, if that was a write, a value that nobody reads."""
    accesses = sorted(
        (
            (did.time, one)
            for history in histories
            for did in history.events
            for one in (did.touched if did.is_access else ())
            if one.cell in cells
        ),
        key=itemgetter(0),
    )
    values: dict[tuple[int, Op], set[int | None]] = defaultdict(set)
    for _, one in accesses:
        values[one.cell, one.op].add(one.value)
    first = {one.cell: one for _, one in reversed(accesses)}
    used = set().union(*values.values())
    fresh = next(number for number in count(1 << 61) if number not in used)
    return {
        cells[cell]: one.value if one.op == Op.READ and one.value is not None else fresh
        for cell, one in first.items()
        if values[cell, Op.READ] <= values[cell, Op.WRITE]
    }


def _shared(histories: Sequence[History]) -> set[int]:
    """Cells that more than one thread touches."""
    owner: dict[int, int] = {}
    shared = set()
    for at, history in enumerate(histories):
        for did in history.events:
            for one in did.touched if did.op in (Op.READ, Op.WRITE) else ():  # locks are none
                if owner.setdefault(one.cell, at) != at:
                    shared.add(one.cell)
    return shared


def _turns(histories: Sequence[History]) -> dict[Position, tuple[int, int]]:
    """Calls on shared objects: a cell that stands for the object, and whose turn it is."""
    calls: dict[int, list[tuple[float, Position]]] = defaultdict(list)
    for at, history in enumerate(histories):
        for position, did in enumerate(history.events):
            if did.op == Op.CALL and did.touched:
                calls[did.touched[0].cell].append((did.time, (at, position)))
    return {
        position: (-2 - 2 * cell, turn)
        for cell, listed in calls.items()
        if len({at for _, (at, _) in listed}) > 1
        for turn, (_, position) in enumerate(sorted(listed))
    }


def _mutexes(histories: Sequence[History]) -> set[int]:
    """Locks that only their owners release. What others release is a signal, not a section."""
    seen: set[int] = set()
    signals: set[int] = set()
    for history in histories:
        depth: dict[int, int] = defaultdict(int)
        for did in history.events:
            if did.op in (Op.ACQUIRE, Op.RELEASE) and did.touched:
                lock = did.touched[0].cell
                seen.add(lock)
                depth[lock] += 1 if did.op == Op.ACQUIRE else -1
                if depth[lock] < 0:
                    signals.add(lock)
        signals.update(lock for lock, count in depth.items() if count > 1)
    return seen - signals


def _handoffs(histories: Sequence[History], mutexes: set[int]) -> dict[Position, int]:
    """A waiter takes its lock twice, and somebody else gives it back once: that comes between."""
    takes: dict[int, list[Position]] = defaultdict(list)
    gives: dict[int, list[Position]] = defaultdict(list)
    for at, history in enumerate(histories):
        for position, did in enumerate(history.events):
            if did.op in (Op.ACQUIRE, Op.RELEASE) and did.touched:
                lock = did.touched[0].cell
                if lock not in mutexes:
                    (takes if did.op == Op.ACQUIRE else gives)[lock].append((at, position))
    found = {}
    for lock, positions in takes.items():
        given = gives[lock]
        if len(positions) == 2 and len(given) == 1 and given[0][0] != positions[0][0]:
            found[positions[1]] = found[given[0]] = lock
    return found
