# SPDX-License-Identifier: Apache-2.0
"""The rank of every code point (Bugaboo 5): its contexts over the runs, by its executions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from unsnarl.analyses.bugaboo.graphs import Indexes, Options, Part, parts
from unsnarl.analyses.recon.keys import Keys, distinct
from unsnarl.model.evidence import Comparison, Places

Figures = npt.NDArray[np.float64]

_CONTEXT_BITS = np.uint64(16)


@dataclass(frozen=True, eq=False)
class Ranking:
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


def ranking(comparison: Comparison, options: Options | None = None) -> Ranking:
    """Ranks the code points of failing runs, or of all runs if labels are not to be used."""
    return rank_parts(parts(comparison, options or Options()), comparison.places)


def rank_parts(ranked: Sequence[Part], places: Places) -> Ranking:
    """Sum over contexts x of F(cp, x), by F(cp, *); F(cp, x) counts runs, F(cp, *) executions.

    The sum counts every run once for each context in which the code point communicated in it.
    """
    contexts = np.zeros(len(places.function))
    executions, runs = np.zeros_like(contexts), np.zeros_like(contexts)
    for part in ranked:
        found = _contexts_of_sites(part, places)
        contexts += found
        runs += found > 0
        executions += _executions(part, places)
    sites = np.flatnonzero(contexts)
    values = contexts[sites] / np.maximum(executions[sites], 1)
    order = np.lexsort((site_order(places)[sites], -runs[sites], values))
    return Ranking(
        sites=sites[order],
        values=values[order],
        runs=runs[sites[order]].astype(np.intp),
        functions=places.function[sites[order]],
    )


def site_order(places: Places) -> Indexes:
    """By site: its place in the order of sites, that of its first point."""
    order = np.full(len(places.function), len(places.order), dtype=np.intp)
    np.minimum.at(order, places.site, places.order)
    return order


def _contexts_of_sites(part: Part, places: Places) -> Indexes:
    """In how many contexts each site communicated."""
    nodes: Keys = np.concatenate(
        [
            places.site[part.column(f"{end}_point")].astype(np.uint64) << _CONTEXT_BITS
            | part.column(f"{end}_context")
            for end in ("source", "sink")
        ]
    )
    sites = distinct(nodes)[0] >> _CONTEXT_BITS
    return np.bincount(sites.astype(np.intp), minlength=len(places.function))


def _executions(part: Part, places: Places) -> Figures:
    """How often each site ran; at least as often as its edges say, where nobody counted."""
    executions = np.zeros(len(places.function))
    for end in ("source", "sink"):
        sites = places.site[part.edges[f"{end}_point"]]
        executions += np.bincount(sites, part.edges["count"], len(executions))
    counts = part.evidence.counts
    executions[counts["site"]] = counts["executed"]
    return executions
