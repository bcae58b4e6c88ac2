# SPDX-License-Identifier: Apache-2.0
"""Which of the new communication is most unusual: Bugaboo's ranking without labels.

Nobody says which bursts were failing ones. Edges that the baseline has do not count, as edges of
passing runs do not in the labelled method; F(cp, *) is over all of them (Bugaboo 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unsnarl.analyses.bugaboo.graphs import RankedGraph
from unsnarl.analyses.bugaboo.ranking import rank_graphs
from unsnarl.anomalies.baseline import GraphBaseline
from unsnarl.anomalies.observed import Observation, as_graph, rows
from unsnarl.anomalies.points import AnchoredPoints
from unsnarl.model.evidence import Evidence

Pair = tuple[int, int]


@dataclass(frozen=True)
class Suspect:
    """Two points whose communication is new.

    Attributes:
        score: 1/rank of the better of its ends.
        is_new_pair: Whether the baseline has them together in no context at all.
    """

    pair: Pair
    score: float
    is_new_pair: bool


class Novelty:
    """Which edges a baseline lacks; asked once for every edge."""

    def __init__(self, baseline: GraphBaseline, points: AnchoredPoints) -> None:
        self._baseline = baseline
        self._points = points
        self._usual: dict[tuple[int, int, int, int], bool] = {}

    def rows(self, observation: Observation) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        """The numbers of the observation's edges that are new."""
        edges = observation.edges
        new = [not self._baseline.has(edge) for edge, _ in rows(edges, self._points)]
        return np.flatnonzero(np.array(new, dtype=bool))

    def is_new_pair(self, pair: Pair) -> bool:
        """Whether the two points never communicate in the baseline."""
        source, sink = (self._points.anchors[one] for one in pair)
        return not self._baseline.has_pair(source, sink)


def ranked(
    observations: Sequence[Observation], points: AnchoredPoints, novelty: Novelty
) -> list[Suspect]:
    """One suspect for each code point, its most frequent new pair; new pairs come first.

    A pair that passing runs do not have at all says more than a new context of one that they have:
    contexts are many, and no test suite has all of them.
    """
    graphs = [
        RankedGraph(Evidence(as_graph(one.edges)), one.edges, novelty.rows(one), number)
        for number, one in enumerate(observations)
    ]
    table = points.table()
    ranking = rank_graphs(graphs, table)
    scores = {
        int(site): 1 / float(value)
        for site, value in zip(ranking.sites, ranking.values, strict=True)
    }
    counts = _pair_counts(graphs)
    best: dict[int, Pair] = {}
    for pair in sorted(counts, key=lambda one: (-counts[one], one)):
        for end in pair:
            best.setdefault(int(table.site[end]), pair)
    found = {pair: max(scores[int(table.site[end])] for end in pair) for pair in set(best.values())}
    suspects = [Suspect(pair, score, novelty.is_new_pair(pair)) for pair, score in found.items()]
    order = table.order

    def key(one: Suspect) -> tuple[object, ...]:
        return not one.is_new_pair, -one.score, *(int(order[end]) for end in one.pair)

    return sorted(suspects, key=key)


def _pair_counts(graphs: Sequence[RankedGraph]) -> dict[Pair, int]:
    counts: dict[Pair, int] = {}
    for graph in graphs:
        columns = [graph.column(f"{end}_point").tolist() for end in ("source", "sink")]
        for source, sink, count in zip(*columns, graph.column("count").tolist(), strict=True):
            counts[source, sink] = counts.get((source, sink), 0) + count
    return counts
