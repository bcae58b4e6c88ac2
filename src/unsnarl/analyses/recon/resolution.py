# SPDX-License-Identifier: Apache-2.0
"""The same graph with shorter contexts: newest events are in the low bits, so a mask will do."""

from __future__ import annotations

import numpy as np

from unsnarl.model.graph import Graph

_KEY = ("source_point", "source_context", "sink_point", "sink_context")


def shortened(graph: Graph, size: int) -> Graph:
    """Every edge with contexts of `size` events. Several rows may now be one edge.

    Their times are worth keeping: they say where else a node happened, which the paper's lossy
    timestamps (Recon 3.1) forget.
    """
    edges = graph.edges.copy()
    for side in ("source_context", "sink_context"):
        edges[side] &= (1 << 2 * size) - 1
    return Graph(edges)


def merged(graph: Graph) -> Graph:
    """Of the rows that are one edge, the latest."""
    edges = graph.edges
    order = np.lexsort((edges["sink_time"], *(edges[name] for name in _KEY)))
    edges = edges[order]
    last = np.zeros(len(edges), dtype=bool)
    last[-1:] = True
    for name in _KEY:
        last[:-1] |= edges[name][1:] != edges[name][:-1]
    return Graph(edges[last])
