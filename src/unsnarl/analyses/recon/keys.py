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
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from unsnarl.model.graph import Edges, Graph

Keys = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]

_Integer = TypeVar("_Integer", bound=np.integer)

_HALF_WORD = 32
_BATCH = 1 << 21  # keys that are gathered before they are merged: bounds the memory beside the sum


class NodeKeys:
    """The numbering of nodes that a set of graphs shares."""

    def __init__(self, graphs: Sequence[Graph]) -> None:
        points = max((_largest(graph, "point") for graph in graphs), default=0)
        contexts = max((_largest(graph, "context") for graph in graphs), default=0)
        self._shift = np.uint64(contexts.bit_length())
        self._table: Keys | None = None
        width = points.bit_length() + contexts.bit_length()
        if width > _HALF_WORD:
            self._table, _ = tally(_all_nodes(self, graphs))  # counts are of no use here
            width = max(len(self._table) - 1, 0).bit_length()
        self._width = np.uint64(width)

    @property
    def limit(self) -> int:
        """All nodes are below this."""
        return 1 << int(self._width)

    def nodes(self, edges: Edges) -> tuple[Keys, Keys]:
        """The source and the sink nodes of edges."""
        source, sink = self._pack(edges, "source"), self._pack(edges, "sink")
        if self._table is None:
            return source, sink
        return (
            np.searchsorted(self._table, source).astype(np.uint64),
            np.searchsorted(self._table, sink).astype(np.uint64),
        )

    def edges(self, edges: Edges) -> Keys:
        """The keys of edges."""
        source, sink = self.nodes(edges)
        return source << self._width | sink

    def ends(self, keys: Keys) -> tuple[Keys, Keys]:
        """The source and sink nodes of edge keys."""
        return keys >> self._width, keys & _mask(self._width)

    def in_site_order(self, keys: Keys, site_order: npt.NDArray[np.intp] | None) -> Keys:
        """Keys that sort as the sites of the edges do (points rank as `site_order` says)."""
        if site_order is None:
            return keys
        source, sink = (self._places(nodes, site_order) for nodes in self.ends(keys))
        return source << self._width | sink

    def _places(self, nodes: Keys, site_order: npt.NDArray[np.intp]) -> Keys:
        points, contexts = self.unpack(nodes if self._table is None else self._all_numbers())
        if self._table is None:
            return site_order[points].astype(np.uint64) << self._shift | contexts.astype(np.uint64)
        places = np.empty(len(points), dtype=np.uint64)
        places[np.lexsort((contexts, site_order[points]))] = self._all_numbers()
        return places[nodes.astype(np.intp)]

    def _all_numbers(self) -> Keys:
        return np.arange(0 if self._table is None else len(self._table), dtype=np.uint64)

    def unpack(self, nodes: Keys) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """The points and contexts of nodes."""
        packed = nodes if self._table is None else self._table[nodes.astype(np.intp)]
        points, contexts = packed >> self._shift, packed & _mask(self._shift)
        return points.astype(np.intp), contexts.astype(np.intp)

    def _pack(self, edges: Edges, end: str) -> Keys:
        points = edges[f"{end}_point"].astype(np.uint64)
        packed: Keys = points << self._shift | edges[f"{end}_context"]
        return packed


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
        if size > max(_BATCH, len(keys)):
            keys, counts = _merge(keys, counts, pending)
            pending, size = [], 0
    return _merge(keys, counts, pending)


def lookup(keys: Keys, values: Counts, wanted: Keys) -> Counts:
    """The values of the wanted keys in a sorted table, 0 for those that are not in it."""
    if not len(keys):
        return np.zeros(len(wanted), dtype=np.int64)
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[places] == wanted, values[places], 0)


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
    keys = np.sort(keys)
    starts = np.flatnonzero(np.append([True] * bool(len(keys)), keys[1:] != keys[:-1]))
    return keys[starts], np.diff(starts, append=len(keys)).astype(np.int64)


def _all_nodes(keys: NodeKeys, graphs: Sequence[Graph]) -> Iterator[Keys]:
    for graph in graphs:
        yield np.concatenate(keys.nodes(graph.edges))


def _largest(graph: Graph, what: str) -> int:
    if not len(graph):
        return 0
    return max(int(graph.edges[f"{end}_{what}"].max()) for end in ("source", "sink"))


def _mask(bits: np.uint64) -> np.uint64:
    return np.uint64((1 << int(bits)) - 1)
