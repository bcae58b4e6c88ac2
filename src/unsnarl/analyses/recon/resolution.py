# SPDX-License-Identifier: Apache-2.0
"""The same graphs with shorter contexts: newest events are in the low bits, so a mask will do.

To rank at several context sizes for the price of one sort, an edge becomes an integer of which the
leading bits are the same edge in shorter contexts (here for sizes 0, 2 and 5):

    +--------------+------------+----------------+--------------+----------------+--------------+
    | source point | sink point | source, newest | sink, newest |  source, next  |  sink, next  |
    |              |            |    2 events    |   2 events   |    3 events    |   3 events   |
    +--------------+------------+----------------+--------------+----------------+--------------+
     <--------- size 0 -------->
     <---------------------- size 2 ---------------------------->

Sorted at the longest size, the keys of a run are sorted at every size, and the contexts of a pair
of points stand together. Where two points and two contexts do not fit, pairs are numbered.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unsnarl.analyses.recon.keys import (
    Extent,
    Indexes,
    Keys,
    NodeKeys,
    distinct,
    tally,
)
from unsnarl.model.graph import (
    CONTEXT_BITS,
    CONTEXT_MOST,
    EDGE,
    Edges,
    Graph,
    context_mask,
)

_KEY = ("source_point", "source_context", "sink_point", "sink_context")
_PAIR_SHIFT = 32  # points are 32 bits in a run file
_BITS = 62  # of a word; the others are for a label and for the key after the last


def shortened(graph: Graph, size: int) -> Graph:
    """Every edge with contexts of `size` events. Several rows may now be one edge.

    Their times are worth keeping: they say where else a node happened, which the paper's lossy
    timestamps (Recon 3.1) forget.
    """
    edges = graph.edges.copy()
    for side in ("source_context", "sink_context"):
        edges[side] &= context_mask(size)
    return Graph(edges)


class Ends(NamedTuple):
    """Edges by their columns."""

    source_points: Indexes
    source_contexts: Indexes
    sink_points: Indexes
    sink_contexts: Indexes


class Layout:
    """How edges become integers, for graphs that are compared at some context sizes."""

    def __init__(self, graphs: Sequence[Graph], extent: Extent, sizes: Iterable[int]) -> None:
        self.extent = extent.at(max(sizes := tuple(sizes)))
        self._context_bits = self.extent.contexts.bit_length()
        self._point_bits = self.extent.points.bit_length()
        ends = sorted({min(CONTEXT_BITS * size, self._context_bits) for size in sizes} - {0})
        self._segments = list(zip([0, *ends], ends, strict=False))
        self._pairs: Keys | None = None
        if 2 * (self._point_bits + self._context_bits) > _BITS:
            self._pairs, _ = tally(distinct(_point_pairs(graph.edges))[0] for graph in graphs)

    def keys(self, edges: Edges) -> Keys:
        """The keys of edges at the longest of the sizes."""
        if self._pairs is None:
            keys = edges["source_point"].astype(np.uint64) << np.uint64(self._point_bits)
            keys |= edges["sink_point"]
        else:
            keys = np.searchsorted(self._pairs, _point_pairs(edges)).astype(np.uint64)
        contexts = [edges["source_context"].copy(), edges["sink_context"].copy()]
        for low, high in self._segments:
            for context in contexts:
                keys <<= high - low
                keys |= context >> low & (1 << high - low) - 1
        return keys

    def pair_bounds(self, source: int, sink: int) -> tuple[int, int]:
        """The keys of all edges between two points: from the first up to before the second."""
        if self._pairs is None:
            exists = max(source, sink).bit_length() <= self._point_bits
            pair = source << self._point_bits | sink
        else:
            wanted = np.uint64(source << _PAIR_SHIFT | sink)
            pair = int(np.searchsorted(self._pairs, wanted))
            exists = pair < len(self._pairs) and bool(self._pairs[pair] == wanted)
        shift = 2 * self._context_bits
        return (pair << shift, (pair + 1) << shift) if exists else (0, 0)

    def pair_starts(self, keys: Keys) -> Keys:
        """The lowest key of the pair of points of each key."""
        shift = np.uint64(2 * self._context_bits)
        return keys >> shift << shift

    def bits(self, size: int) -> int:
        """So many bits of both contexts are in a key at a size."""
        return 2 * min(CONTEXT_BITS * size, self._context_bits)

    def points(self, pairs: Keys) -> tuple[Indexes, Indexes]:
        """The source and sink points of pairs."""
        packed, shift = pairs, self._point_bits
        if self._pairs is not None:
            packed, shift = self._pairs[pairs.astype(np.intp)], _PAIR_SHIFT
        return (packed >> shift).astype(np.intp), (packed & (1 << shift) - 1).astype(np.intp)

    def contexts(self, keys: Keys, size: int) -> tuple[Indexes, Indexes]:
        """The contexts of the sources and sinks of keys at a size."""
        source, sink = np.zeros(len(keys), np.intp), np.zeros(len(keys), np.intp)
        rest = keys.astype(np.intp)
        for low, high in reversed(self._segments):
            if 2 * high <= self.bits(size):
                width = high - low
                sink |= (rest & (1 << width) - 1) << low
                source |= (rest >> width & (1 << width) - 1) << low
                rest >>= 2 * width
        return source, sink


class Resolution:
    """One context size of a layout. Its keys are those of the layout without their last bits."""

    def __init__(self, graphs: Sequence[Graph], layout: Layout, size: int) -> None:
        self.size = size
        self.layout = layout
        self._drop = np.uint64(layout.bits(CONTEXT_MOST) - layout.bits(size))
        self._bits = np.uint64(layout.bits(size))
        self._nodes = NodeKeys(graphs, size, layout.extent)

    def shorten(self, keys: Keys) -> Keys:
        """Sorted keys of a run, without repetitions."""
        short = keys >> self._drop
        fresh = np.ones(len(short), dtype=bool)
        np.not_equal(short[1:], short[:-1], out=fresh[1:])
        return short[fresh]

    def bounds(self, keys: Keys) -> tuple[Keys, Keys]:
        """Between which keys of the layout all edges lie that are one edge here."""
        return keys << self._drop, (keys + np.uint64(1)) << self._drop

    def key(self, edge: tuple[int, int, int, int]) -> Keys:
        """The key of one edge: source point and context, sink point and context."""
        row = np.zeros(1, dtype=EDGE)
        for name, value in zip(_KEY, edge, strict=True):
            row[name] = value
        return self.layout.keys(row) >> self._drop

    def pairs(self, keys: Keys) -> Keys:
        """Edges without contexts."""
        return keys >> self._bits

    def ends(self, keys: Keys) -> Ends:
        """The points and contexts of edges."""
        source_points, sink_points = self.layout.points(self.pairs(keys))
        source_contexts, sink_contexts = self.layout.contexts(keys, self.size)
        return Ends(source_points, source_contexts, sink_points, sink_contexts)

    def order(self, keys: Keys, site_order: npt.NDArray[np.intp] | None) -> Keys:
        """Numbers that sort as the sites of edges do."""
        ends = self.ends(keys)
        return self._nodes.join(
            self._nodes.order_of(ends.source_points, ends.source_contexts, site_order),
            self._nodes.order_of(ends.sink_points, ends.sink_contexts, site_order),
        )


def _point_pairs(edges: Edges) -> Keys:
    pairs = edges["source_point"].astype(np.uint64) << np.uint64(_PAIR_SHIFT)
    pairs |= edges["sink_point"]
    return pairs
