# SPDX-License-Identifier: Apache-2.0
"""The ranking of reconstructions (Recon 4 and 5.3)."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from unsnarl.analyses.recon.aggregate import SINK_ANCHOR, SOURCE_ANCHOR, confident, region_nodes
from unsnarl.analyses.recon.counting import BODY, count
from unsnarl.analyses.recon.features import Choice, EdgeCandidates, choose
from unsnarl.analyses.recon.index import having, indexed
from unsnarl.analyses.recon.keys import Extent, Indexes, Keys
from unsnarl.analyses.recon.reconstruction import REGIONS, Node, ReconOptions, Reconstruction
from unsnarl.analyses.recon.resolution import Layout, Resolution
from unsnarl.analyses.recon.timelines import Spans, Timelines, View, Views, grouped
from unsnarl.model.graph import Graph
from unsnarl.model.report import Region

Sync = Literal["keep", "drop", "auto"]

_FIRST_BATCH, _LAST_BATCH = 64, 512  # edges that are scored at once, more and more
_AT_ONCE = 10  # reconstructions: as many as are shown


def rank(
    failing: Sequence[Graph], passing: Sequence[Graph], options: ReconOptions | None = None
) -> list[Reconstruction]:
    """Ranks what may have made the failing runs fail, most suspicious first.

    Args:
        failing: Graphs of the failing runs of one signature.
        passing: Graphs of passing runs from the same mixture of schedulers.
        options: How to rank.

    Returns:
        The best reconstructions, at most `options.keep`; their `runs` are indexes into `failing`.
    """
    options = options or ReconOptions()
    return list(EdgeRanking(failing, passing, options).best(options.sync)) if failing else []


class _Measured(NamedTuple):
    """What is known of an edge once its regions have been counted."""

    consistency: float
    runs: int
    body_size: int


class _Score(NamedTuple):
    """Sorts by rank: score, then more runs, shorter body, site order (which is unique)."""

    negative_score: float
    negative_runs: int
    body_size: int
    order: int
    consistency: float
    candidate: int
    group: int


class _Group(NamedTuple):
    """Edges of one context size whose reconstructions are made from the same view."""

    resolution: Resolution
    data_only: bool
    edges: EdgeCandidates

    @property
    def bounds(self) -> npt.NDArray[np.float64]:
        """R is at most 1, so the product of the other features bounds the score."""
        # A feature of 0 is left out of the product (Recon 4.2).
        return self.edges.frequency * np.where(self.edges.variation > 0, self.edges.variation, 1.0)


class EdgeRanking:
    """Failing and passing runs made ready to be ranked, at all context sizes.

    What can be used again, with and without lock operations, is: sorted keys, timelines, chosen
    edges, what was measured of them, reconstructions.
    """

    def __init__(
        self, failing: Sequence[Graph], passing: Sequence[Graph], options: ReconOptions
    ) -> None:
        graphs, sizes = [*failing, *passing], options.context_sizes
        extent = Extent.of(graphs)
        self._options = options
        self.layout = Layout(graphs, extent, sizes)
        self.failing = indexed(failing, self.layout)
        self.passing = indexed(passing, self.layout)
        self.resolutions = {size: Resolution(graphs, self.layout, size) for size in sizes}
        self._timelines = Timelines(failing, options, max(sizes), extent)
        self._choices: dict[int, Choice] = {}
        self._measured: dict[tuple[int, bool], dict[int, _Measured]] = {}
        self._made: dict[tuple[int, bool, int], Reconstruction] = {}
        self._views = Views(failing, self._timelines.view)

    def best(self, sync: Sync) -> Iterator[Reconstruction]:
        """The best reconstructions if lock operations are treated so (`ReconOptions.sync`).

        They are made as they are asked for, some at a time, so that each view is used for all of
        its reconstructions at once.
        """
        groups = [
            group
            for resolution in self.resolutions.values()
            for group in self._groups(resolution, sync)
        ]
        scores = heapq.nsmallest(self._options.keep, self._scores(groups))
        for start in range(0, len(scores), _AT_ONCE):
            some = scores[start : start + _AT_ONCE]
            for score in sorted(some, key=lambda score: score.group):
                self._make(groups[score.group], score)
            yield from (self._made[self._name(groups[score.group], score)] for score in some)

    def occurrence(self, reconstruction: Reconstruction, run: int) -> np.void:
        """The row in which the edge of a reconstruction happened last, in one of its runs."""
        row = self.failing[run].last(*self._edge(reconstruction))
        if row is None:
            raise LookupError(f"failing run {run} does not have edge {reconstruction.edge}")
        return row

    def passing_runs(self, reconstruction: Reconstruction) -> int:
        """How many passing runs have the edge of a reconstruction."""
        return having(self.passing, *self._edge(reconstruction))

    def _edge(self, reconstruction: Reconstruction) -> tuple[Resolution, Keys]:
        resolution = self.resolutions[reconstruction.context_size]
        return resolution, resolution.key(reconstruction.edge)

    def _groups(self, resolution: Resolution, sync: Sync) -> Iterator[_Group]:
        """Splits the edges by whether their reconstructions see data alone."""
        size = resolution.size
        if size not in self._choices:
            self._choices[size] = choose(resolution, self.failing, self.passing, self._options)
        every, data = self._choices[size]
        if sync == "drop":
            yield _Group(resolution, True, data)
        elif sync == "keep" or self._options.sync_points is None:
            yield _Group(resolution, False, every)
        else:
            yield _Group(resolution, True, every.take(np.flatnonzero(~every.sync)))
            yield _Group(resolution, False, every.take(np.flatnonzero(every.sync)))

    def _scores(self, groups: list[_Group]) -> Iterator[_Score]:
        """Scores edges, the most promising first, until no later one can be among the best.

        Bodies can be as long as the run: what need not be aggregated is not.
        """
        best: list[float] = []
        bounds = [group.bounds for group in groups]
        for number in sorted(range(len(groups)), key=lambda n: -bounds[n].max(initial=0.0)):
            group = groups[number]
            promising = np.lexsort((group.edges.order, -bounds[number]))
            for batch in _batches(promising):
                # Edges at the floor itself are scored: of equals, runs and bodies decide.
                floor = best[0] if len(best) == self._options.keep else 0.0
                rows = batch[bounds[number][batch] >= floor]
                for row, measured in zip(rows.tolist(), self._measure(group, rows), strict=True):
                    score = _score(group, number, row, float(bounds[number][row]), measured)
                    yield score
                    push = heapq.heappush if len(best) < self._options.keep else heapq.heappushpop
                    push(best, -score.negative_score)
                # Bounds only fall from here on.
                if len(rows) < len(batch):
                    break

    def _measure(self, group: _Group, rows: Indexes) -> list[_Measured]:
        """Counts the regions around edges, unless they have been counted before."""
        keys = group.edges.keys[rows]
        measured = self._measured.setdefault((group.resolution.size, group.data_only), {})
        fresh = np.flatnonzero([key not in measured for key in keys.tolist()])
        if len(fresh):
            view = self._views.get(group.resolution.size, group.data_only)
            spans = self._spans(view, group.resolution, keys[fresh])
            runs = np.bincount(spans.wanted, minlength=len(fresh))
            kept = count(view, spans, len(fresh))
            nodes, total = kept.nodes.sum(axis=1), kept.runs.sum(axis=1)
            # R (Recon 4.1.3): the mean confidence in the three regions, without source and sink.
            mean = total / np.maximum(1, runs * nodes)
            columns = (mean.tolist(), runs.tolist(), kept.nodes[:, BODY].tolist())
            measured.update(zip(keys[fresh].tolist(), map(_Measured, *columns), strict=True))
        return [measured[key] for key in keys.tolist()]

    def _spans(self, view: View, resolution: Resolution, keys: Keys) -> Spans:
        """The latest occurrence of each edge in each failing run that has it."""
        parts = []
        for run, index in enumerate(self.failing):
            # One occurrence a run, as with the paper's lossy timestamps (Recon 3.1).
            wanted, rows = index.latest(resolution, keys)
            parts.append(view.spans(run, rows, wanted))
        return grouped(parts)

    def _make(self, group: _Group, score: _Score) -> None:
        name = self._name(group, score)
        if name not in self._made:
            self._made[name] = self._reconstruct(group, score)

    def _name(self, group: _Group, score: _Score) -> tuple[int, bool, int]:
        return group.resolution.size, group.data_only, int(group.edges.keys[score.candidate])

    def _reconstruct(self, group: _Group, score: _Score) -> Reconstruction:
        row = score.candidate
        keys = group.edges.keys[row : row + 1]
        view = self._views.get(group.resolution.size, group.data_only)
        spans = self._spans(view, group.resolution, keys)
        prefix, body, suffix = region_nodes(view, spans, confident(view, spans), self._options)
        source, sink = _ends(group.resolution, keys)
        features = {
            "B": float(group.edges.frequency[row]),
            "C": float(group.edges.variation[row]),
            "R": score.consistency,
        }
        return Reconstruction(
            score=-score.negative_score,
            features=features,
            regions=_with_roles([prefix, [source], body, [sink], suffix]),
            runs=tuple(spans.runs.tolist()),
            body_size=score.body_size,
            context_size=group.resolution.size,
        )


def _batches(rows: Indexes) -> Iterator[Indexes]:
    start, size = 0, _FIRST_BATCH
    while start < len(rows):
        yield rows[start : start + size]
        start, size = start + size, min(2 * size, _LAST_BATCH)


def _score(group: _Group, number: int, row: int, bound: float, measured: _Measured) -> _Score:
    return _Score(
        # Recon 4.2: the product of the features that are not 0.
        negative_score=-bound * (measured.consistency or 1.0),
        negative_runs=-measured.runs,
        body_size=measured.body_size,
        order=int(group.edges.order[row]),
        consistency=measured.consistency,
        candidate=row,
        group=number,
    )


def _ends(resolution: Resolution, key: Keys) -> tuple[Node, Node]:
    source_point, source_context, sink_point, sink_context = (
        int(column[0]) for column in resolution.ends(key)
    )
    return (
        Node(source_point, source_context, 1.0, 0.0, 0, 1.0, 1.0, SOURCE_ANCHOR),
        Node(sink_point, sink_context, 1.0, 0.0, 0, 1.0, 1.0, SINK_ANCHOR),
    )


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
