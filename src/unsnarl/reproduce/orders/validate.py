# SPDX-License-Identifier: Apache-2.0
"""The judge of all solvers: does an order answer the problem? It shares no code with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from unsnarl.reproduce.orders.problem import Kind, OrderProblem


class ViolationError(Exception):
    """The order breaks a rule; the text says where."""


def violation(problem: OrderProblem, order: Sequence[int]) -> str | None:
    """What is wrong with the order, or None."""
    try:
        _Execution(problem).run([int(event) for event in order])
    except ViolationError as broken:
        return str(broken)
    return None


class _Execution:
    """The events done one after the other, as a machine would have done them."""

    def __init__(self, problem: OrderProblem) -> None:
        self.ends = problem.first.tolist()
        self.kinds, self.objects = problem.kind.tolist(), problem.object.tolist()
        self.values, self.logged = problem.value.tolist(), problem.logged.tolist()
        self.threads = problem.thread.tolist()
        self.next = self.ends[:-1]
        self.memory: dict[int, int] = dict(problem.initial)
        self.holders: dict[int, int] = {}
        self.ahead = problem.ahead.tolist()
        self.stamps: dict[tuple[int, int], int] = {}  # the latest of each thread on each core
        started = [self.objects[e] for e, kind in enumerate(self.kinds) if kind == Kind.START]
        self.unstarted = Counter(started)

    def run(self, order: list[int]) -> None:
        if len(order) != len(self.kinds):
            raise ViolationError(f"{len(order)} events are ordered, {len(self.kinds)} were logged")
        for event in order:
            self._do(event)

    def _do(self, event: int) -> None:
        if not 0 <= event < len(self.kinds):
            raise ViolationError(f"there is no event {event}")
        thread, kind = self.threads[event], self.kinds[event]
        if self.next[thread] != event:
            raise ViolationError(f"event {event} is not the next one of its thread")
        if event == self._begin(thread) and self.unstarted.get(thread):
            raise ViolationError(f"thread {thread} begins before it is started")
        self.next[thread] += 1
        if kind in (Kind.READ, Kind.WRITE):
            self._access(event)
        elif kind in (Kind.ACQUIRE, Kind.RELEASE):
            self._lock(event)
        elif kind == Kind.START:
            self.unstarted[self.objects[event]] -= 1
        elif kind == Kind.JOIN and self.next[self.objects[event]] != self._end(self.objects[event]):
            raise ViolationError(f"event {event} joins a thread that has not ended")
        elif kind == Kind.CLOCK:
            self._clock(event)

    def _begin(self, thread: int) -> int:
        return int(self.ends[thread])

    def _end(self, thread: int) -> int:
        return int(self.ends[thread + 1])

    def _access(self, event: int) -> None:
        cell, value = self.objects[event], self.values[event]
        if self.kinds[event] == Kind.WRITE:
            self.memory[cell] = value
        # An unlogged first value is free, but single: the first read settles it.
        elif self.logged[event] and self.memory.setdefault(cell, value) != value:
            raise ViolationError(
                f"event {event} reads {value}, but the cell has {self.memory[cell]}"
            )

    def _lock(self, event: int) -> None:
        lock, thread = self.objects[event], self.threads[event]
        if self.kinds[event] == Kind.RELEASE:
            if self.holders.pop(lock, None) != thread:
                raise ViolationError(f"event {event} releases a lock that its thread does not hold")
        elif self.holders.setdefault(lock, thread) != thread:
            raise ViolationError(
                f"event {event} acquires a lock that thread {self.holders[lock]} holds"
            )

    def _clock(self, event: int) -> None:
        core, thread, stamp = self.objects[event], self.threads[event], self.values[event]
        for (other_core, other), later in self.stamps.items():
            if other != thread and stamp + self.ahead[core][other_core] < later:
                raise ViolationError(f"the clocks prove event {event} earlier than one of {other}")
        self.stamps[core, thread] = max(stamp, self.stamps.get((core, thread), stamp))
