# SPDX-License-Identifier: Apache-2.0
"""Nodes and edges as integers, so that sets of edges are sorted arrays.

A node (point, context) becomes one integer of `width` bits, and an edge two of them side by side:

     63      2*width          width                 0
    +-------+----------------+----------------------+
    |   0   |  source node   |      sink node       |
    +-------+----------------+----------------------+

Points and contexts are packed by shifting where that fits into half a word, as it nearly always
does; otherwise nodes are numbered by a sorted table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from unsnarl.model.graph import CONTEXT_MOST, Edges, Graph, context_mask

Keys = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]
Indexes = npt.NDArray[np.intp]

_Integer = TypeVar("_Integer", bound=np.integer)

_HALF_WORD = 32
_BATCH = 1 << 21  # keys that are gathered before they are merged: bounds the memory besides the sum


class Extent(NamedTuple):
    """All points and all contexts of some graphs, each or-ed together: how many bits they need."""

    points: int
    contexts: int

    @classmethod
    def of(cls, graphs: Iterable[Graph]) -> Extent:
        """Of all ends of all edges."""
        # All bits or-ed are as long as the largest number, and 0 for a graph without edges, where a
        # maximum would raise.
        points = contexts = 0
        for graph in graphs:
            for end in ("source", "sink"):
                points |= int(np.bitwise_or.reduce(graph.edges[f"{end}_point"]))
                contexts |= int(np.bitwise_or.reduce(graph.edges[f"{end}_context"]))
        return cls(points, contexts)

    def at(self, size: int) -> Extent:
        """With contexts cut to so many events."""
        return Extent(self.points, self.contexts & context_mask(size))


class NodeKeys:
    """The numbering of nodes that a set of graphs shares, with contexts of `size` events."""

    def __init__(
        self, graphs: Sequence[Graph], size: int = CONTEXT_MOST, extent: Extent | None = None
    ) -> None:
        extent = (extent or Extent.of(graphs)).at(size)
        self._mask = context_mask(size)
        self._shift = np.uint64(extent.contexts.bit_length())
        self._table: Keys | None = None
        width = extent.points.bit_length() + extent.contexts.bit_length()
        if width > _HALF_WORD:
            self._table, _ = tally(_all_nodes(self, graphs))  # counts are of no use here
            width = max(len(self._table) - 1, 0).bit_length()
        self._width = np.uint64(width)

    def nodes(self, edges: Edges) -> tuple[Keys, Keys]:
        """The source and the sink nodes of edges."""
        return (
            self.pack(edges["source_point"], edges["source_context"]),
            self.pack(edges["sink_point"], edges["sink_context"]),
        )

    def pack(self, points: npt.NDArray[Any], contexts: npt.NDArray[Any]) -> Keys:
        """Nodes from their points and contexts."""
        packed: Keys = points.astype(np.uint64) << self._shift | (contexts & self._mask).astype(
            np.uint64
        )
        if self._table is None:
            return packed
        return np.searchsorted(self._table, packed).astype(np.uint64)

    def edges(self, edges: Edges) -> Keys:
        """The keys of edges."""
        return self.join(*self.nodes(edges))

    def join(self, sources: Keys, sinks: Keys) -> Keys:
        """The keys of the edges between nodes."""
        return sources << self._width | sinks

    def order_of(
        self, points: Indexes, contexts: Indexes, site_order: npt.NDArray[np.intp] | None
    ) -> Keys:
        """Numbers that sort as the sites of nodes do (points rank as `site_order` says)."""
        if site_order is None:
            return self.pack(points, contexts)
        if self._table is None:
            return self.pack(site_order[points], contexts)
        return self._table_order(self._table, site_order)[self.pack(points, contexts)]

    def _table_order(self, table: Keys, site_order: npt.NDArray[np.intp]) -> Keys:
        points, contexts = table >> self._shift, table & _mask(self._shift)
        ranks = np.empty(len(table), dtype=np.uint64)
        ranks[np.lexsort((contexts, site_order[points]))] = np.arange(len(table))
        return ranks


def tally(key_sets: Iterable[Keys]) -> tuple[Keys, Counts]:
    """The union of sets of keys, sorted, and in how many of the sets each key is.

    A set must not hold a key twice, as a graph does not hold an edge twice.
    """
    keys, counts = np.empty(0, np.uint64), np.empty(0, np.int64)
    pending: list[Keys] = []
    size = 0
    for key_set in key_sets:
        pending.append(key_set)
        size += len(key_set)
        # A merge copies the whole sum: it waits until as much is pending as there is already.
        if size > max(_BATCH, len(keys)):
            keys, counts = _merge(keys, counts, pending)
            pending, size = [], 0
    return _merge(keys, counts, pending)


def lookup(keys: Keys, values: Counts, wanted: Keys) -> Counts:
    """The values of the wanted keys in a sorted table, 0 for those that are not in it."""
    if not len(keys):
        return np.zeros(len(wanted), dtype=np.int64)
    found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[found] == wanted, values[found], 0)


def _merge(keys: Keys, counts: Counts, pending: list[Keys]) -> tuple[Keys, Counts]:
    fresh, ones = distinct(np.concatenate([keys[:0], *pending]))
    if not len(keys):
        return fresh, ones
    merged = np.concatenate([keys, fresh])
    order = np.argsort(merged, kind="stable")
    merged = merged[order]
    starts = np.flatnonzero(np.append(True, merged[1:] != merged[:-1]))
    return merged[starts], np.add.reduceat(np.concatenate([counts, ones])[order], starts)


def distinct(keys: npt.NDArray[_Integer]) -> tuple[npt.NDArray[_Integer], Counts]:
    """Sorted keys without repetitions, and how often each was there.

    As np.unique, whose ways are many times slower on these sizes (measured, numpy 2.4).
    """
    keys, _, counts = groups(np.sort(keys))
    return keys, counts


def groups(keys: npt.NDArray[_Integer]) -> tuple[npt.NDArray[_Integer], Indexes, Counts]:
    """Of sorted keys: each once, where it starts, and how often it is there."""
    fresh = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=fresh[1:])
    starts = np.flatnonzero(fresh)
    return keys[starts], starts, np.diff(starts, append=len(keys)).astype(np.int64)


def _all_nodes(keys: NodeKeys, graphs: Sequence[Graph]) -> Iterator[Keys]:
    for graph in graphs:
        yield np.concatenate(keys.nodes(graph.edges))


def _mask(bits: np.uint64) -> np.uint64:
    return np.uint64((1 << int(bits)) - 1)
