# SPDX-License-Identifier: Apache-2.0
"""Aggregating the regions around one edge over runs (Recon 3.3)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unsnarl.analyses.recon.keys import distinct
from unsnarl.analyses.recon.reconstruction import Node, Options
from unsnarl.analyses.recon.timelines import Indexes, Spans, Timelines
from unsnarl.model.finding import Region

WINDOWS: tuple[Region, ...] = ("prefix", "body", "suffix")
SOURCE_ANCHOR, SINK_ANCHOR, OTHER_ANCHOR = 0, 1, 2

Floats = npt.NDArray[np.float64]
_SPARSE = 8  # below a count per so many nodes, sorting the few beats counting over all


class Confident(NamedTuple):
    """Nodes of a region with at least half its best confidence, and in how many runs they are."""

    nodes: Indexes
    counts: Indexes


class Entries(NamedTuple):
    """Appearances in time order: which span, which of `WINDOWS`, where in the timelines."""

    owners: Indexes
    windows: Indexes
    indexes: Indexes


def confident(timelines: Timelines, spans: Spans, region: Region, options: Options) -> Confident:
    """The nodes that a region keeps."""
    pieces = [timelines.moments.nodes[first:last] for first, last in spans[region].tolist()]
    if options.timeline == "all":  # a node counts once a run
        pieces = [np.unique(piece) for piece in pieces]
    nodes, counts = _count(np.concatenate(pieces), len(timelines))
    if not len(nodes):
        return Confident(nodes, counts)
    kept = counts * 2 >= counts.max()
    return Confident(nodes[kept], counts[kept])


def consistency(regions: Iterable[Confident], runs: int) -> float:
    """R: the mean confidence of the nodes kept; 0 if there are none."""
    regions = list(regions)
    kept = sum(len(region.nodes) for region in regions)
    total = sum(int(region.counts.sum()) for region in regions)
    return total / (runs * kept) if kept else 0.0


def _count(nodes: Indexes, universe: int) -> Confident:
    if len(nodes) * _SPARSE < universe:
        return Confident(*np.unique(nodes, return_counts=True))
    counts = np.bincount(nodes, minlength=universe)
    present = np.flatnonzero(counts)
    return Confident(present, counts[present])


def gather(timelines: Timelines, spans: Spans, visible: list[npt.NDArray[np.bool_]]) -> Entries:
    """All appearances of visible points (one mask per window) in the regions of the spans."""
    owners, windows, indexes = [], [], []
    for window, mask in enumerate(visible):
        for owner, (first, last) in enumerate(spans[WINDOWS[window]].tolist()):
            points = timelines.points[timelines.moments.nodes[first:last]]
            found = first + np.flatnonzero(mask[points])
            indexes.append(found)
            owners.append(np.full(len(found), owner))
            windows.append(np.full(len(found), window))
    entries = Entries(*map(np.concatenate, (owners, windows, indexes)))
    order = np.lexsort((entries.indexes, entries.owners))
    return Entries(*(column[order] for column in entries))


def anchors(timelines: Timelines, spans: Spans, entries: Entries) -> Indexes:
    """Names the threads of every run alike: source's, sink's, others by first appearance."""
    threads = timelines.moments.threads[entries.indexes].astype(np.intp)
    names = np.full(len(threads), SOURCE_ANCHOR)
    is_source = threads == spans["source_thread"][entries.owners]
    is_sink = threads == spans["sink_thread"][entries.owners]
    names[is_sink & ~is_source] = SINK_ANCHOR
    others = np.flatnonzero(~is_source & ~is_sink)
    # Entries are in time order, so the first index of a (run, thread) is its first appearance.
    pairs = entries.owners[others] << 16 | threads[others]
    unique, first, inverse = np.unique(pairs, return_index=True, return_inverse=True)
    places = np.empty(len(unique), dtype=np.intp)
    by_appearance = np.lexsort((first, unique >> 16))
    runs = unique[by_appearance] >> 16
    places[by_appearance] = np.arange(len(unique)) - np.searchsorted(runs, runs)
    names[others] = OTHER_ANCHOR + places[inverse]
    return names


def positions(spans: Spans, entries: Entries, options: Options) -> Floats:
    """The place of appearances within their regions, between 0 and 1."""
    places = np.empty(len(entries.owners))
    for window, region in enumerate(WINDOWS):
        rows = np.flatnonzero(entries.windows == window)
        first, last = spans[region][entries.owners[rows]].T
        length = last - first if region == "body" else options.window
        # A window that is not full lies close to the edge: the prefix fills up from its end.
        start = last - options.window if region == "prefix" else first
        places[rows] = (entries.indexes[rows] - start + 1) / (length + 1)
    return places


def shares(
    timelines: Timelines, spans: Spans, entries: Entries, names: Indexes
) -> dict[tuple[int, int, int], float]:
    """Per (window, point, anchor): the share of the spans in which it is, in any context."""
    points = timelines.points[timelines.moments.nodes[entries.indexes]]
    width = int(names.max(initial=0)) + 1
    limit = int(points.max(initial=0)) + 1
    groups = (entries.windows * limit + points) * width + names
    present, _ = distinct(groups * len(spans) + entries.owners)  # once a span, however often there
    found, counts = distinct(present // len(spans))
    return {
        (group // width // limit, group // width % limit, group % width): count / len(spans)
        for group, count in zip(found.tolist(), counts.tolist(), strict=True)
    }


def region_nodes(
    timelines: Timelines, spans: Spans, kept: list[Confident], options: Options
) -> list[list[Node]]:
    """The nodes of prefix, body and suffix in the order of their mean position; roles still 0."""
    kept = [_limited(timelines, spans, window, kept[window], options) for window in range(3)]
    # A point's share is over all its contexts, so other nodes of the points kept count too.
    visible = [mask_of(timelines, timelines.points[region.nodes]) for region in kept]
    entries = gather(timelines, spans, visible)
    names = anchors(timelines, spans, entries)
    places = positions(spans, entries, options)
    point_shares = shares(timelines, spans, entries, names)
    result = []
    for window, region in enumerate(kept):
        rows = np.flatnonzero(entries.windows == window)
        at, owners = entries.indexes[rows], entries.owners[rows]
        found = _Appearances(
            timelines=timelines,
            runs=len(spans),
            dense=timelines.moments.nodes[at],
            names=names[rows],
            places=places[rows],
            same_cell=timelines.moments.cells[at] == spans["cell"][owners],
        )
        nodes = found.nodes(region, window, point_shares)
        result.append(sorted(nodes, key=lambda node: (node.position, node.point, node.context)))
    return result


def _limited(
    timelines: Timelines, spans: Spans, window: int, region: Confident, options: Options
) -> Confident:
    """Cuts a region: best confidence first, then nodes that touch the edge's cell."""
    if len(region.nodes) <= options.region_limit:
        return region
    touches = np.zeros(len(timelines), dtype=bool)
    bounds = spans[WINDOWS[window]].tolist()
    for (first, last), cell in zip(bounds, spans["cell"].tolist(), strict=True):
        same = timelines.moments.cells[first:last] == cell
        touches[timelines.moments.nodes[first:last][same]] = True
    order = np.lexsort((region.nodes, ~touches[region.nodes], -region.counts))
    best = np.sort(order[: options.region_limit])
    return Confident(region.nodes[best], region.counts[best])


def mask_of(timelines: Timelines, points: Indexes) -> npt.NDArray[np.bool_]:
    """A mask over all points of the timelines."""
    mask = np.zeros(int(timelines.points.max(initial=0)) + 1, dtype=bool)
    mask[points[points < len(mask)]] = True
    return mask


class _Appearances(NamedTuple):
    """The appearances in one window, to be summed up by node."""

    timelines: Timelines
    runs: int
    dense: Indexes
    names: Indexes
    places: Floats
    same_cell: npt.NDArray[np.bool_]

    def nodes(
        self, region: Confident, window: int, point_shares: dict[tuple[int, int, int], float]
    ) -> list[Node]:
        """One Node for each node kept."""
        if not len(region.nodes):
            return []
        kept = np.isin(self.dense, region.nodes)
        group = np.searchsorted(region.nodes, self.dense[kept])
        size = len(region.nodes)
        total = np.bincount(group, minlength=size)
        place = np.bincount(group, self.places[kept], minlength=size) / total
        same_cell = np.bincount(group, self.same_cell[kept], minlength=size) / total
        name = _majority(group, self.names[kept], size)
        points = self.timelines.points[region.nodes].tolist()
        contexts = self.timelines.contexts[region.nodes].tolist()
        return [
            Node(
                point=points[row],
                context=contexts[row],
                confidence=int(region.counts[row]) / self.runs,
                position=round(float(place[row]), 9),
                role=0,
                share=point_shares[window, points[row], int(name[row])],
                same_cell=float(same_cell[row]),
                anchor=int(name[row]),
            )
            for row in range(size)
        ]


def _majority(group: Indexes, names: Indexes, size: int) -> Indexes:
    """The most frequent name of each group, the lowest among equals."""
    width = int(names.max(initial=0)) + 1
    votes = np.bincount(group * width + names, minlength=size * width)
    winners: Indexes = np.argmax(votes.reshape(size, width), axis=1)
    return winners
