# SPDX-License-Identifier: Apache-2.0
"""The features of edges, B and C (Recon 4.1), and the choice of edges worth a reconstruction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unsnarl.analyses.recon.keys import Counts, Keys, NodeKeys, lookup, tally
from unsnarl.analyses.recon.reconstruction import Options
from unsnarl.model.graph import Graph

Floats = npt.NDArray[np.float64]


class Candidates(NamedTuple):
    """The chosen edges, sorted by key, with their features."""

    keys: Keys
    runs: Counts
    frequency: Floats  # B
    variation: Floats  # C
    sync: npt.NDArray[np.bool_]
    order: Keys  # sorts as the sites of the edges do

    def take(self, rows: npt.NDArray[np.intp]) -> Candidates:
        """Some of the edges."""
        return Candidates._make(column[rows] for column in self)


def candidates(
    nodes: NodeKeys, failing: Sequence[Graph], passing: Sequence[Graph], options: Options
) -> Candidates:
    """The edges of failing runs with the highest B."""
    keys, runs = tally(nodes.edges(graph.edges) for graph in failing)
    passing_keys, passing_runs = tally(nodes.edges(graph.edges) for graph in passing)
    shared = lookup(passing_keys, passing_runs, keys)
    frequency = frequency_ratio(runs, len(failing), shared, len(passing))
    variation = _variation_ratio(nodes, keys, passing_keys)
    sync = _is_sync(nodes, keys, options.sync_points)
    allowed = ~sync if options.sync == "drop" else np.ones(len(keys), dtype=bool)
    order = nodes.in_site_order(keys, options.site_order)
    everything = Candidates(keys, runs, frequency, variation, sync, order)
    return _best(everything.take(np.flatnonzero(allowed)), options.edges)


def frequency_ratio(runs: Counts, failing: int, shared: Counts, passing: int) -> Floats:
    """B: share of failing runs with the edge, over that of passing runs.

    An edge that no passing run has counts as if it were in a little less than one of them.
    """
    passing_share = np.where(shared > 0, shared / max(passing, 1), 1 / (passing + 1))
    ratio: Floats = runs / max(failing, 1) / passing_share
    return ratio


def _variation_ratio(nodes: NodeKeys, keys: Keys, passing_keys: Keys) -> Floats:
    """C: how much the number of contexts of the edge's two points differs with the label."""
    pairs = _pairs(nodes, keys)
    failing_contexts = lookup(*np.unique(pairs, return_counts=True), pairs)
    passing_contexts = lookup(*np.unique(_pairs(nodes, passing_keys), return_counts=True), pairs)
    difference = np.abs(failing_contexts - passing_contexts)
    ratio: Floats = difference / (failing_contexts + passing_contexts)
    return ratio


def _pairs(nodes: NodeKeys, keys: Keys) -> Keys:
    """Edges without contexts. Keys are distinct edges, so a pair's number of keys is #Ctx."""
    source, sink = (nodes.unpack(end)[0].astype(np.uint64) for end in nodes.ends(keys))
    return source << np.uint64(32) | sink


def _is_sync(
    nodes: NodeKeys, keys: Keys, sync_points: npt.NDArray[np.bool_] | None
) -> npt.NDArray[np.bool_]:
    if sync_points is None:
        return np.zeros(len(keys), dtype=bool)
    source, sink = (sync_points[nodes.unpack(end)[0]] for end in nodes.ends(keys))
    either: npt.NDArray[np.bool_] = source | sink
    return either


def _best(edges: Candidates, wanted: int) -> Candidates:
    """Cuts to the best B; among equals more failing runs, then greater C, then site order.

    There can be millions of edges and long ties: each column only narrows down what is left.
    """
    chosen: list[npt.NDArray[np.intp]] = []
    tied = np.arange(len(edges.keys))
    for column in (edges.frequency, edges.runs, edges.variation, ~edges.order):
        if len(tied) <= wanted:
            break
        values = column[tied]
        cut = np.partition(values, -wanted)[-wanted] if wanted else values.max()
        chosen.append(tied[values > cut])
        wanted -= len(chosen[-1])
        tied = tied[values == cut]
    return edges.take(np.sort(np.concatenate([*chosen, tied[:wanted]])))
