# SPDX-License-Identifier: Apache-2.0
"""The ranking of reconstructions (Recon 4 and 5.3)."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from unsnarl.analyses.recon.aggregate import (
    SINK_ANCHOR,
    SOURCE_ANCHOR,
    WINDOWS,
    Confident,
    confident,
    consistency,
    region_nodes,
)
from unsnarl.analyses.recon.features import Candidates, candidates
from unsnarl.analyses.recon.keys import NodeKeys
from unsnarl.analyses.recon.reconstruction import REGIONS, Node, Options, Reconstruction
from unsnarl.analyses.recon.resolution import merged, shortened
from unsnarl.analyses.recon.timelines import Spans, Timelines, find_keys, grouped
from unsnarl.model.finding import Region
from unsnarl.model.graph import Graph


def rank(
    failing: Sequence[Graph], passing: Sequence[Graph], options: Options | None = None
) -> list[Reconstruction]:
    """Ranks what may have made the failing runs fail, most suspicious first.

    Args:
        failing: Graphs of the failing runs of one signature.
        passing: Graphs of passing runs from the same mixture of schedulers.
        options: How to rank.

    Returns:
        The best reconstructions, at most `options.keep`; their `runs` are indexes into `failing`.
    """
    options = options or Options()
    if not failing:
        return []
    ranked = [
        one._replace(reconstruction=replace(one.reconstruction, context_size=size))
        for size in options.context_sizes
        for one in _ranked_at(
            [shortened(graph, size) for graph in failing],
            [shortened(graph, size) for graph in passing],
            options,
        )
    ]
    ranked.sort(key=lambda one: one.place)
    return [one.reconstruction for one in ranked[: options.keep]]


def _ranked_at(
    failing: Sequence[Graph], passing: Sequence[Graph], options: Options
) -> list[_Ranked]:
    nodes = NodeKeys([*failing, *passing])
    chosen = candidates(nodes, list(map(merged, failing)), list(map(merged, passing)), options)
    timelines = Timelines(nodes, failing, options)
    ranked: list[_Ranked] = []
    for part, data_only in _views(chosen, options):
        seen = timelines.data_only() if data_only else timelines
        ranked += _View(nodes, seen, failing, part, options).best()
    return ranked


class _Score(NamedTuple):
    """Sorts by rank: score, then more runs, shorter body, site order (which is unique)."""

    negative_score: float
    negative_runs: int
    body_size: int
    order: int
    consistency: float
    candidate: int


class _Ranked(NamedTuple):
    place: _Score
    reconstruction: Reconstruction


def _views(chosen: Candidates, options: Options) -> Iterator[tuple[Candidates, bool]]:
    """Splits the edges by whether their reconstructions see data alone."""
    if options.sync_points is None or options.sync != "auto":
        yield chosen, options.sync == "drop"
        return
    for sync in (False, True):
        rows = np.flatnonzero(chosen.sync == sync)
        if len(rows):
            yield chosen.take(rows), not sync


class _View:
    """Edges whose reconstructions are made from the same timelines."""

    def __init__(
        self,
        nodes: NodeKeys,
        timelines: Timelines,
        failing: Sequence[Graph],
        edges: Candidates,
        options: Options,
    ) -> None:
        self._nodes = nodes
        self._timelines = timelines
        self._edges = edges
        self._options = options
        self._spans = self._occurrences(failing)
        self._starts = np.searchsorted(self._spans["wanted"], np.arange(len(edges.keys) + 1))

    def best(self) -> list[_Ranked]:
        """The best edges of this view with their reconstructions."""
        scores = heapq.nsmallest(self._options.keep, self._scores())
        return [_Ranked(score, self._reconstruct(score)) for score in scores]

    def _occurrences(self, failing: Sequence[Graph]) -> Spans:
        parts = []
        for run, graph in enumerate(failing):
            rows, wanted = find_keys(self._edges.keys, self._nodes.edges(graph.edges))
            parts.append(self._timelines.spans(run, graph.edges[rows], wanted))
        spans = grouped(parts)
        last = np.ones(len(spans), dtype=bool)  # one occurrence a run, the latest
        last[:-1] = (spans["wanted"][1:] != spans["wanted"][:-1]) | (
            spans["run"][1:] != spans["run"][:-1]
        )
        latest: Spans = spans[last]
        return latest

    def _spans_of(self, candidate: int) -> Spans:
        spans: Spans = self._spans[self._starts[candidate] : self._starts[candidate + 1]]
        return spans

    def _scores(self) -> Iterator[_Score]:
        """Scores edges, the most promising first, until no later one can be among the best.

        R is at most 1, so the product of the other features bounds the score. Bodies can be as
        long as the run: what need not be aggregated is not.
        """
        edges = self._edges
        bounds = edges.frequency * np.where(edges.variation > 0, edges.variation, 1.0)
        best: list[float] = []
        for candidate in np.lexsort((edges.order, -bounds)).tolist():
            bound = float(bounds[candidate])
            if len(best) == self._options.keep and bound < best[0]:
                return
            score = self._score(candidate, bound)
            yield score
            push = heapq.heappush if len(best) < self._options.keep else heapq.heappushpop
            push(best, -score.negative_score)

    def _score(self, candidate: int, bound: float) -> _Score:
        spans = self._spans_of(candidate)
        kept = self._confident(spans)
        mean = consistency(kept, len(spans))
        return _Score(
            negative_score=-bound * (mean or 1.0),
            negative_runs=-len(spans),
            body_size=len(kept[1].nodes),
            order=int(self._edges.order[candidate]),
            consistency=mean,
            candidate=candidate,
        )

    def _confident(self, spans: Spans) -> list[Confident]:
        return [confident(self._timelines, spans, region, self._options) for region in WINDOWS]

    def _reconstruct(self, score: _Score) -> Reconstruction:
        spans = self._spans_of(score.candidate)
        kept = self._confident(spans)
        prefix, body, suffix = region_nodes(self._timelines, spans, kept, self._options)
        source, sink = self._ends(score.candidate)
        features = {
            "B": float(self._edges.frequency[score.candidate]),
            "C": float(self._edges.variation[score.candidate]),
            "R": score.consistency,
        }
        return Reconstruction(
            score=-score.negative_score,
            features=features,
            regions=_with_roles([prefix, [source], body, [sink], suffix]),
            runs=tuple(spans["run"].tolist()),
            body_size=score.body_size,
        )

    def _ends(self, candidate: int) -> tuple[Node, Node]:
        key = self._edges.keys[candidate : candidate + 1]
        source, sink = (
            Node(int(point[0]), int(context[0]), 1.0, 0.0, 0, 1.0, 1.0, anchor)
            for anchor, (point, context) in zip(
                (SOURCE_ANCHOR, SINK_ANCHOR),
                map(self._nodes.unpack, self._nodes.ends(key)),
                strict=True,
            )
        )
        return source, sink


def _with_roles(regions: list[list[Node]]) -> dict[Region, tuple[Node, ...]]:
    """Numbers the threads by first appearance."""
    roles: dict[int, int] = {}
    for region in regions:
        for node in region:
            roles.setdefault(node.anchor, len(roles) + 1)
    return {
        name: tuple(node._replace(role=roles[node.anchor]) for node in region)
        for name, region in zip(REGIONS, regions, strict=True)
    }
