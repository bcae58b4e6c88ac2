# SPDX-License-Identifier: Apache-2.0
"""The nodes of runs in the order of time, and the regions around edges as spans of it.

The timelines of all runs lie one behind the other in four arrays, so that a region of any run is
just a span of indexes:

    times    | run 0: 3 4 9 12 | run 1: 1 2 5 | ...
    nodes    |        a b a'c  |        b a c |
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unsnarl.analyses.recon.keys import Keys, NodeKeys, tally
from unsnarl.analyses.recon.reconstruction import Options
from unsnarl.model.graph import Edges, Graph

Indexes = npt.NDArray[np.intp]
Spans = npt.NDArray[Any]

_TABLE_FACTOR = 4

# One occurrence of a wanted edge in one run: three spans of the timeline and what its ends were.
SPAN = np.dtype(
    [
        ("wanted", np.intp),
        ("run", np.intp),
        ("prefix", np.intp, 2),
        ("body", np.intp, 2),
        ("suffix", np.intp, 2),
        ("source_thread", np.uint16),
        ("sink_thread", np.uint16),
        ("cell", np.uint64),
        ("time", np.uint64),
    ]
)


class Moments(NamedTuple):
    """Parallel arrays: which node happened when, in which thread, on which cell."""

    times: npt.NDArray[np.uint64]
    nodes: Indexes
    threads: npt.NDArray[np.uint16]
    cells: npt.NDArray[np.uint64]

    def take(self, rows: Indexes) -> Moments:
        """Some of the moments, in the given order."""
        return Moments._make(column[rows] for column in self)


class Timelines:
    """The timelines of some runs. Nodes are numbered densely: `points[n]`, `contexts[n]`."""

    def __init__(self, nodes: NodeKeys, graphs: Sequence[Graph], options: Options) -> None:
        self._options = options
        self._numbers = _Numbers(nodes, graphs)
        self.points, self.contexts = nodes.unpack(self._numbers.keys)
        self._last = np.empty(len(self.points), dtype=np.intp)
        parts = [self._moments(graph.edges) for graph in graphs]
        self.starts = np.cumsum([0, *(len(part.times) for part in parts)])
        self.moments = Moments._make(map(np.concatenate, zip(*parts, strict=True)))

    def __len__(self) -> int:
        return len(self.points)

    def data_only(self) -> Timelines:
        """The same timelines without lock and thread operations."""
        if self._options.sync_points is None:
            return self
        rows = np.flatnonzero(~self._options.sync_points[self.points][self.moments.nodes])
        without = copy(self)
        without.moments = self.moments.take(rows)
        without.starts = np.searchsorted(rows, self.starts)
        return without

    def _moments(self, edges: Edges) -> Moments:
        """Both ends of every edge in time order, each node only where it last happened."""
        nodes = self._numbers.of(edges)
        both = Moments(
            np.concatenate((edges["source_time"], edges["sink_time"])),
            nodes,
            np.concatenate((edges["source_thread"], edges["sink_thread"])),
            np.concatenate((edges["cell"], edges["cell"])),
        )
        order = np.argsort(both.times)
        moments = both.take(order[self._wanted(both.times[order], nodes[order])])
        if np.all(moments.times[1:] > moments.times[:-1]):
            return moments
        # Clocks of several cores may agree: let the order of rows in the file not matter.
        return moments.take(np.lexsort((moments.nodes, moments.times)))

    def _wanted(self, times: npt.NDArray[np.uint64], nodes: Indexes) -> npt.NDArray[np.bool_]:
        if self._options.timeline == "all":
            fresh = np.ones(len(nodes), dtype=bool)
            fresh[1:] = (times[1:] != times[:-1]) | (nodes[1:] != nodes[:-1])
            return fresh
        places = np.arange(len(nodes))
        self._last[nodes] = places  # of equal indexes the last assignment stays
        latest: npt.NDArray[np.bool_] = self._last[nodes] == places
        return latest

    def spans(self, run: int, edges: Edges, wanted: Indexes) -> Spans:
        """The regions around edges of one run; `wanted` is the caller's name for each edge."""
        start, stop = self.starts[run], self.starts[run + 1]
        times, window = self.moments.times[start:stop], self._options.window
        spans = np.empty(len(edges), dtype=SPAN)
        spans["wanted"], spans["run"] = wanted, run
        source_first = start + np.searchsorted(times, edges["source_time"], "left")
        source_last = start + np.searchsorted(times, edges["source_time"], "right")
        sink_first = start + np.searchsorted(times, edges["sink_time"], "left")
        sink_last = start + np.searchsorted(times, edges["sink_time"], "right")
        spans["prefix"] = _pairs(np.maximum(source_first - window, start), source_first)
        spans["body"] = _pairs(source_last, np.maximum(source_last, sink_first))
        spans["suffix"] = _pairs(sink_last, np.minimum(sink_last + window, stop))
        for field in ("source_thread", "sink_thread", "cell"):
            spans[field] = edges[field]
        spans["time"] = edges["sink_time"]
        return spans


class _Numbers:
    """Numbers the nodes of some graphs densely, in the order of their keys."""

    def __init__(self, nodes: NodeKeys, graphs: Sequence[Graph]) -> None:
        self._node_keys = nodes
        entries = 2 * sum(map(len, graphs))
        self._table: Indexes | None = None
        # A table by key is several times faster than a search, where memory stays linear.
        if nodes.limit <= _TABLE_FACTOR * entries:
            present = np.zeros(nodes.limit, dtype=bool)
            for graph in graphs:
                for keys in nodes.nodes(graph.edges):
                    present[keys.astype(np.intp)] = True
            self._table = np.cumsum(present) - 1
            self.keys: Keys = np.flatnonzero(present).astype(np.uint64)
        else:
            self.keys, _ = tally(np.concatenate(nodes.nodes(graph.edges)) for graph in graphs)

    def of(self, edges: Edges) -> Indexes:
        """The numbers of all sources, then of all sinks."""
        keys = np.concatenate(self._node_keys.nodes(edges))
        if self._table is None:
            return np.searchsorted(self.keys, keys)
        return self._table[keys.astype(np.intp)]


def find_keys(wanted: Keys, keys: Keys) -> tuple[Indexes, Indexes]:
    """Which rows of `keys` are in the sorted array `wanted`, and where there."""
    if not len(wanted):
        return np.empty(0, np.intp), np.empty(0, np.intp)
    places = np.minimum(np.searchsorted(wanted, keys), len(wanted) - 1)
    rows = np.flatnonzero(wanted[places] == keys)
    return rows, places[rows]


def grouped(parts: Sequence[Spans]) -> Spans:
    """Joins the spans of runs: sorted by wanted edge, then by run, then by time."""
    spans = np.concatenate([np.empty(0, SPAN), *parts])
    ordered: Spans = spans[np.lexsort((spans["time"], spans["run"], spans["wanted"]))]
    return ordered


def _pairs(first: Indexes, last: Indexes) -> npt.NDArray[np.intp]:
    return np.stack((first, last), axis=1)
