# SPDX-License-Identifier: Apache-2.0
"""The order problem: in which order did the logged events of all threads happen?

CLAP's question, asked of logged values instead of path conditions (ReCBuLC, section IV). An order
answers it if it keeps each thread's own order, the exclusion of locks, starts before begins, ends
before joins and what the clocks prove, and if each read returns the value of the last write of its
cell before it, or the cell's initial value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


class Kind(IntEnum):
    """What an event does; its object is a cell, a lock, a thread, or the core of a clock."""

    READ = 0
    WRITE = 1
    ACQUIRE = 2
    RELEASE = 3
    START = 4
    BEGIN = 5
    END = 6
    JOIN = 7
    CLOCK = 8


class OrderEvent(NamedTuple):
    """One logged event; a value of None was not logged. A clock's value is its stamp."""

    kind: Kind
    object: int = 0
    value: int | None = None


@dataclass(frozen=True, eq=False)
class OrderProblem:
    """All events, thread after thread, each thread's in its own order.

    Attributes:
        first: Where each thread's events begin, and at last the number of all.
        kind: A `Kind` for each event.
        object: The cell, lock, thread or core, by a number of the caller's choice (threads: their
            index here; cores: their index in `ahead`).
        value: Values or hashes, and stamps.
        logged: Whether the value was. A read without one constrains nothing; writes and
            clocks must have theirs.
        initial: Cells whose first value is known. Of others it is free, but one and the same.
        ahead: `ahead[i, j]` is the most that core j's clock can be ahead of core i's: the hard
            range of their skew. Only this proves an order of two stamps.
    """

    first: Integers
    kind: NDArray[np.uint8]
    object: Integers
    value: NDArray[np.uint64]
    logged: NDArray[np.bool_]
    initial: Mapping[int, int] = field(default_factory=dict)
    ahead: Integers = field(default_factory=lambda: np.zeros((0, 0), np.int64))

    def __post_init__(self) -> None:
        complaint = _complaint(self)
        if complaint:
            raise ValueError(complaint)

    @property
    def threads(self) -> int:
        """How many threads there are."""
        return len(self.first) - 1

    @property
    def size(self) -> int:
        """How many events there are."""
        return len(self.kind)

    @property
    def thread(self) -> NDArray[np.int32]:
        """The thread of each event."""
        return np.repeat(np.arange(self.threads, dtype=np.int32), np.diff(self.first))

    def of(self, *kinds: Kind) -> Integers:
        """The events of these kinds."""
        wanted = np.zeros(len(Kind), np.bool_)
        wanted[list(kinds)] = True
        return np.flatnonzero(wanted[self.kind])


class Sections(NamedTuple):
    """Critical sections, sorted by lock, thread and time; release is -1 where it never came."""

    lock: Integers
    thread: Integers
    acquire: Integers
    release: Integers


def sections(problem: OrderProblem) -> Sections:
    """The critical sections of all locks."""
    events, lock, thread = _lock_events(problem)
    acquires = problem.kind[events] == Kind.ACQUIRE
    release = np.full(len(events), -1, np.int64)
    if len(events):
        release[:-1] = np.where(acquires[1:], -1, events[1:])
    return Sections(lock[acquires], thread[acquires], events[acquires], release[acquires])


def orders_of_threads(problem: OrderProblem) -> tuple[Integers, Integers]:
    """Starts before first events, last events before joins, as (source, sink)."""
    first, last = problem.first[:-1], problem.first[1:] - 1
    starts, joins = problem.of(Kind.START), problem.of(Kind.JOIN)
    starts = starts[(first <= last)[problem.object[starts]]]
    joins = joins[(first <= last)[problem.object[joins]]]
    sources = np.concatenate([starts, last[problem.object[joins]]])
    return sources, np.concatenate([first[problem.object[starts]], joins])


def problem_of(
    threads: Sequence[Iterable[OrderEvent]],
    initial: Mapping[int, int] | None = None,
    ahead: Sequence[Sequence[int]] = (),
) -> OrderProblem:
    """The problem of events that are listed thread by thread."""
    lists = [list(events) for events in threads]
    events = [event for listed in lists for event in listed]
    cores = len(ahead)
    return OrderProblem(
        first=np.cumsum([0, *map(len, lists)], dtype=np.int64),
        kind=np.array([event.kind for event in events], np.uint8),
        object=np.array([event.object for event in events], np.int64),
        value=np.array([event.value or 0 for event in events], np.uint64),
        logged=np.array([event.value is not None for event in events], np.bool_),
        initial=dict(initial or {}),
        ahead=np.array(ahead, np.int64).reshape(cores, cores),
    )


def _lock_events(problem: OrderProblem) -> tuple[Integers, Integers, Integers]:
    """Events of locks with their locks and threads, each lock's together, thread by thread."""
    events = problem.of(Kind.ACQUIRE, Kind.RELEASE)
    lock = problem.object[events]
    thread = np.searchsorted(problem.first, events, side="right") - 1
    by = np.lexsort((events, thread, lock))
    return events[by], lock[by], thread[by]


def _complaint(problem: OrderProblem) -> str:
    """Why this is no order problem, or nothing."""
    sizes = {len(problem.object), len(problem.value), len(problem.logged), problem.size}
    if len(sizes) > 1 or not len(problem.first) or problem.first[-1] != problem.size:
        return "the events' columns are not of one length"
    if problem.first[0] != 0 or (np.diff(problem.first) < 0).any():
        return "the threads' first events are out of order"
    if problem.size and problem.kind.max() > max(Kind):
        return "an event is of no known kind"
    if not problem.logged[problem.of(Kind.WRITE, Kind.CLOCK)].all():
        return "a write's value or a clock's stamp is missing"
    return _thread_complaint(problem) or _core_complaint(problem) or _lock_complaint(problem)


def _thread_complaint(problem: OrderProblem) -> str:
    events = problem.of(Kind.START, Kind.JOIN)
    others = problem.object[events]
    if ((others < 0) | (others >= problem.threads)).any():
        return "a thread is started or joined that is none of the problem's"
    return "a thread starts or joins itself" if (others == problem.thread[events]).any() else ""


def _core_complaint(problem: OrderProblem) -> str:
    cores = problem.object[problem.of(Kind.CLOCK)]
    if ((cores < 0) | (cores >= len(problem.ahead))).any():
        return "a clock's core has no range"
    backwards = problem.ahead + problem.ahead.T < 0
    return "the ranges of two cores' skew are empty" if backwards.any() else ""


def _lock_complaint(problem: OrderProblem) -> str:
    events, lock, thread = _lock_events(problem)
    acquires = problem.kind[events] == Kind.ACQUIRE
    begins = np.ones(len(events), np.bool_)
    begins[1:] = (lock[1:] != lock[:-1]) | (thread[1:] != thread[:-1])
    held = np.zeros(len(events), np.bool_)  # whether the thread holds the lock before the event
    held[1:] = acquires[:-1] & ~begins[1:]
    wrong = np.flatnonzero(held == acquires)
    if not len(wrong):
        return ""
    event = int(events[wrong[0]])
    if acquires[wrong[0]]:
        return f"event {event} acquires a lock that its thread holds already"
    return f"event {event} releases a lock that its thread does not hold"
