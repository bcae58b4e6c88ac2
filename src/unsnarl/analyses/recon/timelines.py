# SPDX-License-Identifier: Apache-2.0
"""The nodes of runs in the order of time, and the regions around edges as spans of it.

The order of a run's instants is the same at every context size, so it is made once (`Timelines`).
What counts as one node is not: a `View` shows the timelines at one size, with or without lock
operations. In it all runs lie one behind the other, so a region of any run is a span of indexes:

    nodes     | run 0: a b a c | run 1: b a c | ...
    positions |        0 1 3 4 |        0 2 3 |       where the instant is in the order of its run

Numbers are 32 bits wide: with 25 failing runs of 100,000 edges there are five million instants.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from unsnarl.analyses.recon.keys import Extent, Indexes, Keys
from unsnarl.analyses.recon.numbering import Numbering, Numbers
from unsnarl.analyses.recon.reconstruction import ReconOptions
from unsnarl.model.graph import CONTEXT_BITS, CONTEXT_MOST, Edges, Graph, context_mask

Flags = npt.NDArray[np.bool_]

_Integer = TypeVar("_Integer", bound=np.integer)

_COPY = 8  # gathering more than such a part of a column pays for copying it first
_WORD = 63  # bits
_VIEWS = 1 << 28  # bytes of views that are kept
_INSTANT = 10  # bytes in a view


class Spans(NamedTuple):
    """Occurrences of wanted edges: their regions in a view, and what their ends were.

    `prefix`, `body` and `suffix` have two columns, the first index and that after the last.
    """

    wanted: Indexes
    runs: Indexes
    prefix: Indexes
    body: Indexes
    suffix: Indexes
    source_threads: npt.NDArray[np.uint16]
    sink_threads: npt.NDArray[np.uint16]
    cells: npt.NDArray[np.uint64]

    def take(self, rows: Indexes | slice) -> Spans:
        """Some of the spans."""
        return Spans._make(column[rows] for column in self)

    @property
    def regions(self) -> tuple[Indexes, Indexes, Indexes]:
        """The bounds of prefix, body and suffix."""
        return self.prefix, self.body, self.suffix


class _Instants(NamedTuple):
    """Both ends of every edge of a run in time order.

    An end is its edge's row if it is a source, and `len(edges)` more if it is a sink.
    """

    ends: Numbers
    times: npt.NDArray[np.uint64]
    nodes: Numbers


class Timelines:
    """The instants of some runs. Nodes are numbered at the longest context size."""

    def __init__(
        self,
        graphs: Sequence[Graph],
        options: ReconOptions,
        size: int = CONTEXT_MOST,
        extent: Extent | None = None,
    ) -> None:
        extent = (extent or Extent.of(graphs)).at(size)
        self.graphs = graphs
        self.options = options
        self._shift = extent.contexts.bit_length()
        self._mask = context_mask(size)
        self._limit = 1 << extent.points.bit_length() + self._shift
        numbering = Numbering(self._limit, 2 * sum(map(len, graphs)))
        for graph in graphs:
            numbering.add(self._nodes(graph.edges))
        self._points, self._contexts = _unpacked(numbering.keys(), self._shift)
        self.instants = [self._instants(graph.edges, numbering) for graph in graphs]

    def view(self, size: int = CONTEXT_MOST, data_only: bool = False) -> View:
        """The timelines with contexts of so many events, perhaps without lock operations."""
        points, contexts = self._points, self._contexts
        numbers = None
        if (1 << self._shift) - 1 > context_mask(size):
            numbers, points, contexts = self._shortened(size)
        hidden = None
        if data_only and self.options.sync_points is not None:
            hidden = self.options.sync_points[points]
        return View(self, numbers, points, contexts, hidden)

    def _shortened(self, size: int) -> tuple[Numbers, Indexes, Indexes]:
        """For each node what it is with shorter contexts, and the points and contexts of those."""
        bits = CONTEXT_BITS * size
        packed = self._points.astype(np.uint64) << np.uint64(bits)
        packed |= (self._contexts & context_mask(size)).astype(np.uint64)
        numbering = Numbering(self._limit >> self._shift << bits, len(packed))
        numbering.add(packed)
        return numbering.of(packed), *_unpacked(numbering.keys(), bits)

    def _nodes(self, edges: Edges) -> Keys:
        """The nodes of all sources, then of all sinks."""
        nodes = np.empty(2 * len(edges), dtype=np.uint64)
        contexts = np.empty(2 * len(edges), dtype=np.uint16)
        for end, half in (("source", slice(len(edges))), ("sink", slice(len(edges), None))):
            nodes[half] = edges[f"{end}_point"]
            contexts[half] = edges[f"{end}_context"]
        nodes <<= np.uint64(self._shift)
        nodes |= contexts & self._mask
        return nodes

    def _instants(self, edges: Edges, numbering: Numbering) -> _Instants:
        times = np.concatenate((edges["source_time"], edges["sink_time"]))
        order = np.argsort(times)
        nodes = numbering.of(self._nodes(edges))
        return _Instants(order.astype(np.int32), times[order], nodes[order])


class View:
    """Timelines as a reconstruction sees them. Nodes are numbered: `points[n]`, `contexts[n]`."""

    def __init__(
        self,
        timelines: Timelines,
        numbers: Numbers | None,
        points: Indexes,
        contexts: Indexes,
        hidden: Flags | None,
    ) -> None:
        self.points = points
        self.contexts = contexts
        self._timelines = timelines
        parts = [self._run(instants, numbers, hidden) for instants in timelines.instants]
        self._positions = [positions for positions, _ in parts]
        self.starts = np.cumsum([0, *map(len, self._positions)])
        self.nodes: Numbers = np.concatenate(
            [np.empty(0, np.int32), *(nodes for _, nodes in parts)]
        )

    def __len__(self) -> int:
        return len(self.points)

    @property
    def point_limit(self) -> int:
        """All points are below this; nodes are in their order."""
        return int(self.points[-1]) + 1 if len(self) else 1

    def _run(
        self, instants: _Instants, numbers: Numbers | None, hidden: Flags | None
    ) -> tuple[Numbers, Numbers]:
        """The instants of a run that count, and their nodes."""
        nodes = instants.nodes if numbers is None else numbers[instants.nodes]
        positions = np.flatnonzero(self._wanted(instants.times, nodes))
        _order_equals(positions, instants.times[positions], nodes, len(self))
        if hidden is not None:
            positions = positions[~hidden[nodes[positions]]]
        return positions.astype(np.int32), nodes[positions]

    def _wanted(self, times: npt.NDArray[np.uint64], nodes: Numbers) -> Flags:
        """Each node once a instant, or only where it last happened."""
        if self._timelines.options.timeline == "all":
            fresh = np.ones(len(nodes), dtype=bool)
            np.not_equal(nodes[1:], nodes[:-1], out=fresh[1:])
            fresh[1:] |= times[1:] != times[:-1]
            return fresh
        positions = np.arange(len(nodes), dtype=np.int32)
        last = np.empty(len(self), dtype=np.int32)
        last[nodes] = positions  # of equal indexes the last assignment stays
        latest: Flags = last[nodes] == positions
        return latest

    def spans(self, run: int, rows: Indexes, wanted: Indexes) -> Spans:
        """The regions around edges of one run; `wanted` is the caller's name for each edge."""
        edges = self._timelines.graphs[run].edges
        start, stop = self.starts[run], self.starts[run + 1]
        window = self._timelines.options.window
        source_first, source_last = self._around(run, edges["source_time"][rows])
        sink_first, sink_last = self._around(run, edges["sink_time"][rows])
        # Runs lie one behind the other: no window may reach into the next. Ends of equal time have
        # an empty body; without the maximum its bounds would cross.
        return Spans(
            wanted=wanted,
            runs=np.full(len(rows), run),
            prefix=_pairs(np.maximum(source_first - window, start), source_first),
            body=_pairs(source_last, np.maximum(source_last, sink_first)),
            suffix=_pairs(sink_last, np.minimum(sink_last + window, stop)),
            source_threads=edges["source_thread"][rows],
            sink_threads=edges["sink_thread"][rows],
            cells=edges["cell"][rows],
        )

    def _around(self, run: int, times: npt.NDArray[np.uint64]) -> tuple[Indexes, Indexes]:
        """The first index at or after some instants, and the first after them."""
        order, positions = self._timelines.instants[run].times, self._positions[run]
        bounds = (np.searchsorted(order, times, "left"), np.searchsorted(order, times, "right"))
        # Of equal width, else the positions would be converted anew every time.
        first, last = (np.searchsorted(positions, bound.astype(np.int32)) for bound in bounds)
        return self.starts[run] + first, self.starts[run] + last

    @cached_property
    def threads(self) -> npt.NDArray[np.uint16]:
        """The threads of all instants."""
        threads = np.empty(len(self.nodes), dtype=np.uint16)
        for run, positions in enumerate(self._positions):
            edges = self._timelines.graphs[run].edges
            both = np.concatenate((edges["source_thread"], edges["sink_thread"]))
            ends = self._timelines.instants[run].ends[positions]
            np.take(both, ends, out=threads[self.starts[run] : self.starts[run + 1]])
        return threads

    def cells(self, indexes: Indexes, runs: Indexes) -> npt.NDArray[np.uint64]:
        """The cells that instants touched, which must be in the order of their runs."""
        cells = np.empty(len(indexes), dtype=np.uint64)
        bounds = np.searchsorted(runs, np.arange(len(self._positions) + 1))
        for run in np.flatnonzero(np.diff(bounds)).tolist():
            some = slice(bounds[run], bounds[run + 1])
            ends = self._timelines.instants[run].ends[
                self._positions[run][indexes[some] - self.starts[run]]
            ]
            column = self._timelines.graphs[run].edges["cell"]
            if len(ends) * _COPY > len(column):  # faster than to gather from among wide rows
                column = column.copy()
            ends -= (ends >= len(column)) * np.int32(len(column))
            cells[some] = column[ends]
        return cells

    def by_point(self) -> View:
        """Itself, from now on with points for nodes: smaller, where contexts do not matter."""
        points = self.points.astype(np.int32)
        for first, last in itertools.pairwise(self.starts.tolist()):
            self.nodes[first:last] = points[self.nodes[first:last]]
        self.points = np.arange(self.point_limit)
        self.contexts = np.zeros(len(self.points), dtype=np.intp)
        return self


class Views:
    """Keeps views of some runs, by size and data only: several of small ones, one of large ones."""

    def __init__(self, graphs: Sequence[Graph], make: Callable[[int, bool], View]) -> None:
        self._make = make
        self._most = _VIEWS // (_INSTANT * 2 * sum(map(len, graphs)) or 1)
        self._kept: dict[tuple[int, bool], View] = {}

    def get(self, size: int, data_only: bool) -> View:
        """A view that was kept, or a new one; an old one is forgotten before that is made."""
        if (size, data_only) not in self._kept:
            if self._kept and len(self._kept) >= self._most:
                self._kept.pop(next(iter(self._kept)))
            self._kept[size, data_only] = self._make(size, data_only)
        return self._kept[size, data_only]


def find_keys(
    wanted: npt.NDArray[_Integer], keys: npt.NDArray[_Integer]
) -> tuple[Indexes, Indexes]:
    """Which rows of `keys` are in the sorted array `wanted`, and where there."""
    if not len(wanted):
        return np.empty(0, np.intp), np.empty(0, np.intp)
    positions = np.minimum(np.searchsorted(wanted, keys), len(wanted) - 1)
    rows = np.flatnonzero(wanted[positions] == keys)
    return rows, positions[rows]


def grouped(parts: Iterable[Spans]) -> Spans:
    """Joins the spans of runs: sorted by wanted edge, then as they were."""
    spans = Spans._make(map(np.concatenate, zip(*parts, strict=True)))
    return spans.take(np.argsort(spans.wanted, kind="stable"))


def _order_equals(
    positions: Indexes, times: npt.NDArray[np.uint64], nodes: Numbers, universe: int
) -> None:
    """Puts instants of equal time in the order of their nodes.

    Clocks of several cores may agree: let the order of rows in the file not matter.
    """
    equal = times[1:] == times[:-1]
    if not equal.any():
        return
    tied = np.zeros(len(positions), dtype=bool)
    tied[1:] = equal
    tied[:-1] |= equal
    rows = np.flatnonzero(tied)
    instants = np.cumsum(np.append(True, ~equal))[rows]
    keys = instants * universe + nodes[positions[rows]]
    bits = len(rows).bit_length()
    if int(keys[-1] + universe).bit_length() + bits < _WORD:  # sorted together with their rows
        order = np.sort(keys << bits | np.arange(len(rows))) & (1 << bits) - 1
    else:
        order = np.argsort(keys, kind="stable")  # several times slower
    positions[rows] = positions[rows[order]]


def _unpacked(nodes: Keys, shift: int) -> tuple[Indexes, Indexes]:
    """The points and contexts of packed nodes."""
    return (nodes >> shift).astype(np.intp), (nodes & (1 << shift) - 1).astype(np.intp)


def _pairs(first: Indexes, last: Indexes) -> Indexes:
    return np.stack((first, last), axis=1)
