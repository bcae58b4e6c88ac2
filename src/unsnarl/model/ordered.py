# SPDX-License-Identifier: Apache-2.0
"""Which accesses the starting and joining of threads orders anyway: no schedule can swap them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from unsnarl.model.evidence import Orders
from unsnarl.model.graph import Graph
from unsnarl.model.pattern import PatternKind, Patterns, kinds_of

Mask = npt.NDArray[np.bool_]
Times = npt.NDArray[np.int64]
Threads = npt.NDArray[np.intp]

NEVER = -1


class Knowledge:
    """What every thread comes after, from when on: a vector of times, as vector clocks are."""

    def __init__(self, orders: Orders, threads: int) -> None:
        since: dict[int, list[int]] = {}
        vectors: dict[int, list[Times]] = {}
        for thread, other, time, upto in orders.tolist():
            # Orders are sorted by time: the other thread's latest vector is the one it had then.
            vector = _latest(vectors, thread, threads)
            np.maximum(vector, _latest(vectors, other, threads), out=vector)
            vector[other] = max(int(vector[other]), upto)
            since.setdefault(thread, []).append(time)
            vectors.setdefault(thread, []).append(vector)
        self._since = {thread: np.array(times) for thread, times in since.items()}
        self._vectors = {thread: np.stack(rows) for thread, rows in vectors.items()}

    def before(self, first: Threads, first_time: Times, then: Threads, then_time: Times) -> Mask:
        """Whether the first access always comes before the second one."""
        after = np.full(len(first), NEVER, dtype=np.int64)
        for thread, since in self._since.items():
            rows = np.flatnonzero(then == thread)
            at = np.searchsorted(since, then_time[rows], side="right") - 1
            rows, at = rows[at >= 0], at[at >= 0]
            after[rows] = self._vectors[thread][at, first[rows]]
        return after >= first_time


def _latest(vectors: dict[int, list[Times]], thread: int, threads: int) -> Times:
    if thread in vectors:
        return vectors[thread][-1].copy()
    return np.full(threads, NEVER, dtype=np.int64)


def open_patterns(patterns: Patterns, orders: Orders) -> Mask:
    """The patterns all of whose conflicts could have gone the other way."""
    if not len(patterns):
        return np.zeros(0, dtype=bool)
    first, other = (patterns[f"{which}_thread"].astype(np.intp) for which in ("first", "other"))
    times = [patterns[f"{which}_time"].astype(np.int64) for which in ("first", "other", "last")]
    kinds = kinds_of(patterns)
    threads = 1 + max(int(first.max()), int(other.max()), *_highest(orders))
    knowledge = Knowledge(orders, threads)
    gap = kinds == PatternKind.UNREAD
    # The first thread's last access before the other's: of W1-W1-R2 the second one.
    before, after = np.where(gap, times[1], times[0]), np.where(gap, times[2], times[1])
    fixed = knowledge.before(first, before, other, after)
    # Only Falcon's triples return to the first thread; the other kinds with three accesses do not.
    back = (kinds >= PatternKind.RWR) & (kinds <= PatternKind.WWW)
    fixed |= back & knowledge.before(other, times[1], first, times[2])
    return ~fixed


def open_graph(graph: Graph, orders: Orders) -> Graph:
    """The edges whose ends could have come the other way round."""
    edges = graph.edges
    if not len(edges) or not len(orders):
        return graph
    source, sink = (edges[f"{end}_thread"].astype(np.intp) for end in ("source", "sink"))
    times = [edges[f"{end}_time"].astype(np.int64) for end in ("source", "sink")]
    threads = 1 + max(int(source.max()), int(sink.max()), *_highest(orders))
    fixed = Knowledge(orders, threads).before(source, times[0], sink, times[1])
    return Graph(edges[~fixed]) if fixed.any() else graph


def _highest(orders: Orders) -> tuple[int, int]:
    if not len(orders):
        return 0, 0
    return int(orders["thread"].max()), int(orders["other"].max())
