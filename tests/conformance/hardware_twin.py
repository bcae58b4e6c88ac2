# SPDX-License-Identifier: Apache-2.0
"""Bugaboo's hardware again, slow and obvious: the oracle for native/hardware/ (Bugaboo 4.2).

Caches are dictionaries of lines, in the order of their use. Nothing is fast, nothing is clever.
"""

from __future__ import annotations

import enum
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

EVENTS_IN_A_REGISTER = 5


class State(enum.IntEnum):
    """MESI."""

    INVALID = 0
    SHARED = 1
    EXCLUSIVE = 2
    MODIFIED = 3


class Seen(enum.IntEnum):
    """What a context register remembers: two bits, so an empty one is full of local reads."""

    LOCAL_READ = 0
    LOCAL_WRITE = 1
    REMOTE_READ = 2
    REMOTE_WRITE = 3


class Access(NamedTuple):
    """One access of a thread."""

    thread: int
    point: int
    address: int
    write: bool
    lock: bool = False


class Node(NamedTuple):
    """One end of an edge: an instruction, and its core's context when it ran."""

    point: int
    context: tuple[Seen, ...]


class Edge(NamedTuple):
    """An entry of the communication table; without a source if nobody noted the writer."""

    source: Node | None
    sink: Node


@dataclass
class Line:
    """A line in one cache, with its metadata."""

    state: State
    writer: Node | None
    core: int | None = None  # ... whose it was


def full_of_reads() -> deque[Seen]:
    return deque([Seen.LOCAL_READ] * EVENTS_IN_A_REGISTER, maxlen=EVENTS_IN_A_REGISTER)


@dataclass
class Machine:
    """A multiprocessor with Bugaboo's extensions."""

    cores: int = 16
    sets: int = 64
    ways: int = 8
    line: int = 64
    entries: int = 1 << 14
    trap: int = 1 << 14
    quiet_locks: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    table: list[Edge] = field(default_factory=list)
    graph: Counter[Edge] = field(default_factory=Counter)
    deaf_until: int = 0
    quiet: bool = False  # the access under way

    def __post_init__(self) -> None:
        self.contexts = [full_of_reads() for _ in range(self.cores)]
        # By core and set; of a set the line that was used last comes last.
        self.caches = [
            [OrderedDict[int, Line]() for _ in range(self.sets)] for _ in range(self.cores)
        ]

    def feed(self, accesses: Iterable[Access]) -> Machine:
        for access in accesses:
            self.access(access)
        return self

    def end(self) -> Machine:
        self.read_table()
        return self

    def access(self, access: Access) -> None:
        core = access.thread % self.cores
        number = access.address // self.line
        here = Node(access.point, tuple(self.contexts[core]))
        self.quiet = access.lock and self.quiet_locks
        self.counts["accesses"] += 1
        self.counts["writes" if access.write else "reads"] += 1
        cache = self.cache(core, number)
        own = cache.get(number)
        if own is not None:
            cache.move_to_end(number)
        if own is None and access.write:
            self.counts["write_misses"] += 1
            self.invalidate(core, number, here)
            self.install(core, number, Line(State.MODIFIED, here, core))
        elif own is None:
            self.read_miss(core, number, here)
        elif access.write and own.state is State.SHARED:
            self.counts["upgrades"] += 1
            self.counts["metadata_writes"] += 1
            self.invalidate(core, number, here)
            own.state, own.writer, own.core = State.MODIFIED, here, core
        elif access.write:
            own.state = State.MODIFIED

    def push(self, core: int, seen: Seen) -> None:
        if not self.quiet:
            self.contexts[core].append(seen)

    def cache(self, core: int, number: int) -> OrderedDict[int, Line]:
        return self.caches[core][number % self.sets]

    def holders(self, number: int) -> list[int]:
        return [core for core in range(self.cores) if number in self.cache(core, number)]

    def read_miss(self, core: int, number: int, here: Node) -> None:
        self.counts["read_misses"] += 1
        holders = self.holders(number)
        if not holders:
            self.counts["memory_reads"] += 1
            self.note(None, here)
            self.install(core, number, Line(State.EXCLUSIVE, None))
            return
        self.counts["read_replies"] += 1
        writers = [one for one in holders if self.cache(one, number)[number].core == one]
        supplier = (writers or holders)[0]
        line = self.cache(supplier, number)[number]
        self.note(line.writer, here)
        self.counts["write_backs"] += line.state is State.MODIFIED
        line.state = State.SHARED
        self.push(core, Seen.LOCAL_READ)
        self.push(supplier, Seen.REMOTE_READ)
        self.install(core, number, Line(State.SHARED, line.writer, line.core))

    def invalidate(self, core: int, number: int, here: Node) -> None:
        others = [one for one in self.holders(number) if one != core]
        for other in others:
            line = self.cache(other, number).pop(number)
            self.counts["invalidate_replies"] += 1
            self.counts["write_backs"] += line.state is State.MODIFIED
            self.note(line.writer, here)
            self.push(other, Seen.REMOTE_WRITE)
        if others:
            self.push(core, Seen.LOCAL_WRITE)

    def install(self, core: int, number: int, line: Line) -> None:
        cache = self.cache(core, number)
        self.counts["metadata_writes"] += 1
        if len(cache) == self.ways:
            _, old = cache.popitem(last=False)
            self.counts["evictions"] += 1
            self.counts["write_backs"] += old.state is State.MODIFIED
        cache[number] = line

    def note(self, source: Node | None, sink: Node) -> None:
        self.counts["table_writes"] += 1
        if self.counts["accesses"] < self.deaf_until:
            self.counts["discarded"] += 1
            return
        self.counts["unsourced"] += source is None
        self.table.append(Edge(source, sink))
        if len(self.table) == self.entries:
            self.counts["traps"] += 1
            self.deaf_until = self.counts["accesses"] + self.trap
            self.read_table()

    def read_table(self) -> None:
        self.graph.update(self.table)
        self.table.clear()

    def state(self, core: int, address: int) -> State:
        line = self.cache(core, address // self.line).get(address // self.line)
        return line.state if line else State.INVALID


def register(events: Sequence[Seen]) -> int:
    """A context as ten bits, the newest event lowest."""
    return sum(seen << 2 * age for age, seen in enumerate(reversed(events)))


def widened(events: Sequence[Seen]) -> int:
    """A context as graphs have it: three bits an event, none of them 0."""
    return sum(seen + 1 << 3 * age for age, seen in enumerate(reversed(events)))
