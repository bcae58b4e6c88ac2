# SPDX-License-Identifier: Apache-2.0
"""The tracker again, slow and obvious: the oracle for the native one (Recon 5.1, 5.4).

Per cell: who wrote last (thread, point, context, time) and the sharers, the threads that have read
since. Per thread: a context, the last few communication events it saw, two bits each, newest in the
low bits. Time is the index of the event.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

EVENT = struct.Struct("<QQQIHBB")  # struct uns_event_record
EDGE = struct.Struct("<IIHHHHQQQII")

CONTEXT_BITS = 3  # of one event

FirstWrite = Literal["off", "paper", "shared"]


class Seen(enum.IntEnum):
    """What a context remembers; 0 is nothing yet."""

    LOCAL_READ = 1
    LOCAL_WRITE = 2
    REMOTE_READ = 3
    REMOTE_WRITE = 4


class Kind(enum.IntEnum):
    """Kinds of events, as traces number them."""

    READ = 1
    WRITE = 2
    FORCED_WRITE = 3  # synchronisation: never skipped
    RESET = 4  # the object is new: forget the cell
    INIT_WRITE = 5  # reset, then write


class Event(NamedTuple):
    """One access."""

    thread: int
    point: int
    cell: int
    kind: Kind


class Writer(NamedTuple):
    """The last-writer record of a cell; its latest reader is kept in the same form."""

    thread: int
    point: int
    context: int
    time: int


@dataclass
class Cell:
    """The metadata of one memory location."""

    writer: Writer | None = None
    reader: Writer | None = None
    sharers: set[int] = field(default_factory=set)


class EdgeKey(NamedTuple):
    """What tells one edge from another."""

    source_point: int
    source_context: int
    sink_point: int
    sink_context: int


class EdgeValue(NamedTuple):
    """What an edge keeps of its latest occurrence, and the number of occurrences."""

    source_thread: int
    sink_thread: int
    source_time: int
    sink_time: int
    cell: int
    times: int


@dataclass
class Tracker:
    """Feeds on events, leaves edges."""

    context_size: int = 5
    first_read: bool = True
    first_write: FirstWrite = "shared"
    anti_edges: bool = False
    own_reads: bool = False
    cells: dict[int, Cell] = field(default_factory=dict)
    contexts: dict[int, int] = field(default_factory=dict)
    edges: dict[EdgeKey, EdgeValue] = field(default_factory=dict)
    time: int = 0

    def feed(self, events: Iterable[Event]) -> Tracker:
        """Processes events in order."""
        for event in events:
            if event.kind in (Kind.RESET, Kind.INIT_WRITE):
                self.cells.pop(event.cell, None)
            if event.kind == Kind.READ:
                self._read(event)
            elif event.kind != Kind.RESET:
                self._write(event)
            self.time += 1
        return self

    def _read(self, event: Event) -> None:
        thread = event.thread
        cell = self.cells.setdefault(event.cell, Cell())
        writer = cell.writer
        if writer is not None and writer.thread == thread:
            if self.own_reads and self.anti_edges:
                cell.reader = Writer(thread, event.point, self._context(thread), self.time)
            return
        again = thread in cell.sharers
        known = self.first_read and again
        if not known if writer is not None else not again:
            cell.reader = Writer(thread, event.point, self._context(thread), self.time)
        if writer is not None and not known:
            self._add_edge(writer, event)
            self._push(thread, Seen.LOCAL_READ)
            self._push(writer.thread, Seen.REMOTE_READ)
        cell.sharers.add(thread)

    def _write(self, event: Event) -> None:
        thread = event.thread
        cell = self.cells.setdefault(event.cell, Cell())
        if event.kind != Kind.FORCED_WRITE and self._is_redundant(cell, thread):
            return
        context = self._context(thread)
        writer = cell.writer
        others = cell.sharers - {thread}
        if writer is not None and writer.thread != thread:
            self._add_edge(writer, event)
            others.add(writer.thread)
        if self.anti_edges and cell.reader is not None and cell.reader.thread != thread:
            self._add_edge(cell.reader, event)
        if event.kind == Kind.FORCED_WRITE:
            others = set()  # locks order threads, but tell nothing about what they share
        if others:
            self._push(thread, Seen.LOCAL_WRITE)
        for other in others:
            self._push(other, Seen.REMOTE_WRITE)
        cell.writer = Writer(thread, event.point, context, self.time)
        cell.sharers = set()
        cell.reader = None

    def _is_redundant(self, cell: Cell, thread: int) -> bool:
        if cell.writer is None or cell.writer.thread != thread:
            return False
        if self.first_write == "paper":
            return True
        return self.first_write == "shared" and not cell.sharers - {thread}

    def _add_edge(self, writer: Writer, event: Event) -> None:
        key = EdgeKey(writer.point, writer.context, event.point, self._context(event.thread))
        count = self.edges[key].times if key in self.edges else 0
        self.edges[key] = EdgeValue(
            writer.thread, event.thread, writer.time, self.time, event.cell, count + 1
        )

    def _context(self, thread: int) -> int:
        return self.contexts.get(thread, 0)

    def _push(self, thread: int, seen: Seen) -> None:
        mask = (1 << CONTEXT_BITS * self.context_size) - 1
        self.contexts[thread] = (self._context(thread) << CONTEXT_BITS | seen) & mask


def mix(cell: int) -> int:
    """A key for a cell: neighbours must not share a bucket of the native table."""
    key = cell * 0x9E37_79B9_7F4A_7C15 % 2**64
    return key ^ key >> 32


def unmix(key: int) -> int:
    """And back."""
    return (key ^ key >> 32) * 0xF1DE_83E1_9937_733D % 2**64


def pack(events: Iterable[Event]) -> bytes:
    """Events as the native tracker takes them; their addresses are the cells."""
    return b"".join(
        EVENT.pack(time, mix(e.cell), e.cell, e.point, e.thread, e.kind, 0)
        for time, e in enumerate(events)
    )


def track(events: Iterable[Event], *options: object, **more: object) -> tuple[bytes, bytes]:
    """The native tracker's edges and patterns, with the cells of the events."""
    from unsnarl import _core

    tracker = _core.Tracker(*options, **more)
    tracker.feed(pack(events))
    return tracker.result()


def unpack(edges: bytes, *, mixed: bool = True) -> dict[EdgeKey, EdgeValue]:
    """Edges as the native tracker returns them (struct uns_edge_record); none may be there twice.

    Args:
        mixed: Cells are keys that `mix` made.
    """
    result: dict[EdgeKey, EdgeValue] = {}
    for row in EDGE.iter_unpack(edges):
        source, sink, source_context, sink_context, *value, reserved = row
        key = EdgeKey(source, source_context, sink, sink_context)
        assert key not in result, f"{key} is there twice"
        assert reserved == 0
        found = EdgeValue(*value)
        result[key] = found._replace(cell=unmix(found.cell)) if mixed else found
    return result
