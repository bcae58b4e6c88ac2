# SPDX-License-Identifier: Apache-2.0
"""What is known before any solving: each thread's own order, starts, joins and clocks, closed.

A slow and obvious table for z3's encoding; the native solver has its own (native/solver/closure.c).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from unsnarl.reproduce.orders.clocks import clock_orders
from unsnarl.reproduce.orders.problem import Integers, OrderProblem, orders_of_threads


@dataclass(frozen=True, eq=False)
class OrderClosure:
    """Which events are before which; ask `known(a, b)`.

    Attributes:
        before: Of each event and thread, how many of the thread's events are before it.
        after: Of each event and thread, how many of the thread's events are after it.
        sources: The orders that are not of a thread with itself: these before `sinks`.
    """

    first: Integers
    thread: list[int]
    position: list[int]
    before: Integers
    after: Integers
    sources: Integers
    sinks: Integers

    @classmethod
    def of(cls, problem: OrderProblem) -> OrderClosure | None:
        """The closure, or None if the orders go in circles."""
        pairs = [orders_of_threads(problem), clock_orders(problem)]
        sources, sinks = (np.concatenate(part) for part in zip(*pairs, strict=True))
        first = problem.first
        before = _closure(first, sources, sinks)
        if before is None:
            return None
        turned = problem.size - 1
        after = _closure(problem.size - first[::-1], turned - sinks, turned - sources)
        assert after is not None
        thread = problem.thread
        position = np.arange(problem.size) - first[thread]
        reversed_ = after[::-1, ::-1]
        return cls(first, thread.tolist(), position.tolist(), before, reversed_, sources, sinks)

    def __call__(self, a: int, b: int) -> bool:
        """Whether `a` is known to be before `b`."""
        return bool(self.before[b, self.thread[a]] > self.position[a])

    def orders(self) -> Iterator[tuple[int, int]]:
        """Orders that imply all that is known."""
        for begin, end in zip(self.first[:-1].tolist(), self.first[1:].tolist(), strict=True):
            yield from zip(range(begin, end - 1), range(begin + 1, end), strict=True)
        yield from zip(self.sources.tolist(), self.sinks.tolist(), strict=True)


def _closure(first: Integers, sources: Integers, sinks: Integers) -> Integers | None:
    """How many events of each thread are before each event: vector clocks, thread by thread."""
    size, threads = int(first[-1]), len(first) - 1
    before = np.zeros((size, threads), np.int64)
    incoming: dict[int, list[int]] = {}
    for source, sink in zip(sources.tolist(), sinks.tolist(), strict=True):
        incoming.setdefault(sink, []).append(source)
    owner = np.repeat(np.arange(threads), np.diff(first)).tolist()
    begins, done = first.tolist(), first[:-1].tolist()
    moving = True
    while moving:
        moving = False
        for thread in range(threads):
            while done[thread] < begins[thread + 1]:
                event = done[thread]
                needed = incoming.get(event, [])
                # Another thread comes first; where all wait like this, orders go in circles.
                if any(done[owner[source]] <= source for source in needed):
                    break
                if event > begins[thread]:
                    before[event] = before[event - 1]
                    before[event, thread] += 1
                for source in needed:
                    np.maximum(before[event], before[source], out=before[event])
                    position = source - begins[owner[source]]
                    before[event, owner[source]] = max(before[event, owner[source]], position + 1)
                done[thread] += 1
                moving = True
    return before if done == begins[1:] else None
