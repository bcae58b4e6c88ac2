# SPDX-License-Identifier: Apache-2.0
"""The rank of every code point (Bugaboo 5): its contexts over the runs, by its executions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from unsnarl.analyses.bugaboo.graphs import BugabooOptions, Indexes, RankedGraph, ranked_graphs
from unsnarl.analyses.recon.keys import Keys, distinct
from unsnarl.model.evidence import Comparison, PointTable

Figures = npt.NDArray[np.float64]

_CONTEXT_BITS = np.uint64(16)


@dataclass(frozen=True, eq=False)
class SiteRanking:
    """All code points that communicate, best first; the arrays are parallel.

    Attributes:
        sites: The code points.
        values: Their ranks: the lower, the more suspicious.
        runs: In how many of the ranked runs each is an end of an edge.
        functions: The function of each.
    """

    sites: Indexes
    values: Figures
    runs: Indexes
    functions: Indexes

    def __len__(self) -> int:
        return len(self.sites)


def ranking(comparison: Comparison, options: BugabooOptions | None = None) -> SiteRanking:
    """Ranks the code points of failing runs, or of all runs if labels are not to be used."""
    return rank_graphs(ranked_graphs(comparison, options or BugabooOptions()), comparison.points)


def rank_graphs(ranked: Sequence[RankedGraph], points: PointTable) -> SiteRanking:
    """Sum over contexts x of F(cp, x), by F(cp, *); F(cp, x) counts runs, F(cp, *) executions.

    The sum counts every run once for each context in which the code point communicated in it.
    """
    contexts = np.zeros(len(points.function))
    executions, runs = np.zeros_like(contexts), np.zeros_like(contexts)
    for graph in ranked:
        found = _contexts_of_sites(graph, points)
        contexts += found
        runs += found > 0
        executions += _executions(graph, points)
    sites = np.flatnonzero(contexts)
    values = contexts[sites] / np.maximum(executions[sites], 1)
    # Ascending (Bugaboo 5): what communicates in rare contexts is suspicious.
    order = np.lexsort((site_order(points)[sites], -runs[sites], values))
    return SiteRanking(
        sites=sites[order],
        values=values[order],
        runs=runs[sites[order]].astype(np.intp),
        functions=points.function[sites[order]],
    )


def site_order(points: PointTable) -> Indexes:
    """By site: its rank in the order of sites, that of its first point."""
    order = np.full(len(points.function), len(points.order), dtype=np.intp)
    np.minimum.at(order, points.site, points.order)
    return order


def _contexts_of_sites(graph: RankedGraph, points: PointTable) -> Indexes:
    """In how many contexts each site communicated."""
    nodes: Keys = np.concatenate(
        [
            points.site[graph.column(f"{end}_point")].astype(np.uint64) << _CONTEXT_BITS
            | graph.column(f"{end}_context")
            for end in ("source", "sink")
        ]
    )
    sites = distinct(nodes)[0] >> _CONTEXT_BITS
    return np.bincount(sites.astype(np.intp), minlength=len(points.function))


def _executions(graph: RankedGraph, points: PointTable) -> Figures:
    """How often each site ran; at least as often as its edges say, where nobody counted."""
    # Over all edges, not only those that count: F(cp, *) is about every execution (Bugaboo 5).
    executions = np.zeros(len(points.function))
    for end in ("source", "sink"):
        sites = points.site[graph.edges[f"{end}_point"]]
        executions += np.bincount(sites, graph.edges["count"], len(executions))
    counts = graph.evidence.counts
    # Edges are counted only where threads communicate; counters saw the other executions, too.
    executions[counts["site"]] = counts["executed"]
    return executions
