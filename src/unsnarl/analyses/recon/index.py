# SPDX-License-Identifier: Apache-2.0
"""The edges of a run sorted by key, so that an edge is found in it at any context size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from unsnarl.analyses.recon.keys import Indexes, Keys
from unsnarl.analyses.recon.resolution import Layout, Resolution
from unsnarl.model.graph import Graph


class Index:
    """The keys of one run in their order, and the row of each."""

    def __init__(self, graph: Graph, layout: Layout) -> None:
        self.graph = graph
        keys = layout.keys(graph.edges)
        order = np.argsort(keys)
        self.keys: Keys = keys[order]
        self._rows: npt.NDArray[np.int32] = order.astype(np.int32)

    def rows(self, low: int, high: int) -> Indexes:
        """The rows with keys from `low` up to before `high`."""
        first, last = np.searchsorted(self.keys, np.array([low, high], dtype=np.uint64))
        return self._rows[first:last].astype(np.intp)

    def recent(self, low: int, high: int, most: int) -> Indexes:
        """At most so many of these rows, those that happened last, in the order of time."""
        # The sort by key is not stable; in the order of the file, equal times are decided alike.
        rows = np.sort(self.rows(low, high))
        times = self.graph.edges["sink_time"][rows]
        if len(rows) > most:
            late = np.flatnonzero(times >= np.partition(times, -most)[-most])
            rows, times = rows[late], times[late]
        return rows[np.argsort(times, kind="stable")][-most:]

    def last(self, resolution: Resolution, key: Keys) -> np.void | None:
        """The row in which an edge happened last, or None."""
        (low,), (high,) = resolution.bounds(key)
        rows = np.sort(self.rows(low, high))
        if not len(rows):
            return None
        row: np.void = self.graph.edges[rows[self.graph.edges["sink_time"][rows].argmax()]]
        return row

    def latest(self, resolution: Resolution, keys: Keys) -> tuple[Indexes, Indexes]:
        """Which of the edges this run has, and the row in which each happened last."""
        first, last = (np.searchsorted(self.keys, bound) for bound in resolution.bounds(keys))
        found = np.flatnonzero(last > first)
        first, last = first[found], last[found]
        starts = np.cumsum(last - first) - (last - first)
        rows = self._rows[expanded(first, last)]
        if len(rows) == len(found):
            return found, rows.astype(np.intp)
        times = self.graph.edges["sink_time"][rows]
        best = np.repeat(np.maximum.reduceat(times, starts), last - first)
        latest: Indexes = np.maximum.reduceat(np.where(times == best, rows, -1), starts)
        return found, latest.astype(np.intp)


def indexed(graphs: Sequence[Graph], layout: Layout) -> list[Index]:
    """All of some runs."""
    return [Index(graph, layout) for graph in graphs]


def expanded(first: Indexes, last: Indexes) -> Indexes:
    """All numbers of the ranges from `first` up to before `last`, one range behind the other."""
    lengths = last - first
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    numbers: Indexes = np.arange(total) + np.repeat(first - (ends - lengths), lengths)
    return numbers


def having(indexes: Sequence[Index], resolution: Resolution, key: Keys) -> int:
    """In how many runs an edge is."""
    (low,), (high,) = resolution.bounds(key)
    return sum(bool(np.diff(np.searchsorted(one.keys, [low, high]))[0]) for one in indexes)
