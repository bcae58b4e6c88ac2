# SPDX-License-Identifier: Apache-2.0
"""Aggregating the regions around one edge over runs (Recon 3.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unsnarl.analyses.recon.index import expanded
from unsnarl.analyses.recon.keys import Counts, Indexes, distinct
from unsnarl.analyses.recon.reconstruction import Node, ReconOptions
from unsnarl.analyses.recon.timelines import Spans, View, find_keys
from unsnarl.model.report import Region

WINDOWS: tuple[Region, ...] = ("prefix", "body", "suffix")
SOURCE_ANCHOR, SINK_ANCHOR, OTHER_ANCHOR = 0, 1, 2

Floats = npt.NDArray[np.float64]


class Confident(NamedTuple):
    """Nodes of a region with at least half its best confidence, and in how many runs they are."""

    nodes: Indexes
    counts: Counts


class Entries(NamedTuple):
    """Appearances in time order: which span, which of `WINDOWS`, where in the view."""

    owners: Indexes
    windows: Indexes
    indexes: Indexes

    def take(self, rows: Indexes) -> Entries:
        """Some of the appearances."""
        return Entries._make(column[rows] for column in self)


def confident(view: View, spans: Spans) -> list[Confident]:
    """The nodes that each region keeps."""
    return [_confident(view, bounds) for bounds in spans.regions]


def _confident(view: View, bounds: Indexes) -> Confident:
    # A node counts once a run, and an edge has one span in a run.
    pieces = [distinct(view.nodes[first:last])[0] for first, last in bounds.tolist()]
    nodes, counts = distinct(np.concatenate(pieces))
    # Recon 5.3: nodes below half of the region's best confidence are left out.
    kept = counts * 2 >= counts.max(initial=0)
    return Confident(nodes[kept].astype(np.intp), counts[kept])


def gather(
    view: View, spans: Spans, visible: list[npt.NDArray[np.bool_]], *, once: bool = False
) -> Entries:
    """All appearances of visible points (one mask per window) in the regions of the spans.

    With `once`, only the first of each point in each thread and region.
    """
    indexes, lengths = [np.empty(0, np.intp)], []
    first_of = _First(view, visible) if once else None
    for regions in zip(*(bounds.tolist() for bounds in spans.regions), strict=True):
        for mask, (first, last) in zip(visible, regions, strict=True):
            points = view.points[view.nodes[first:last]]
            found = np.flatnonzero(mask[points])
            if first_of is not None:
                found = found[first_of.its_kind(points[found], view.threads[first + found])]
            indexes.append(first + found)
            lengths.append(len(found))
    owners, windows = np.divmod(np.arange(len(lengths)), len(visible))
    return Entries(
        owners=np.repeat(owners, lengths),
        windows=np.repeat(windows, lengths),
        indexes=np.concatenate(indexes),
    )


class _First:
    """Finds the first appearance of each visible point in each thread."""

    def __init__(self, view: View, visible: list[npt.NDArray[np.bool_]]) -> None:
        self._numbers = np.cumsum(np.any(visible, axis=0))
        self._width = int(view.threads.max(initial=0)) + 1
        self._firsts = np.empty((int(self._numbers[-1]) + 1) * self._width, dtype=np.intp)

    def its_kind(self, points: Indexes, threads: npt.NDArray[np.uint16]) -> npt.NDArray[np.bool_]:
        """Which appearances are the first of their kind."""
        kinds = self._numbers[points] * self._width + threads
        indexes = np.arange(len(kinds))
        self._firsts[kinds[::-1]] = indexes[::-1]  # the last assignment stays
        first: npt.NDArray[np.bool_] = self._firsts[kinds] == indexes
        return first


def anchors(view: View, spans: Spans, entries: Entries) -> Indexes:
    """Names the threads of every run alike: source's, sink's, others by first appearance."""
    threads = view.threads[entries.indexes]
    names = np.full(len(threads), SOURCE_ANCHOR)
    is_source = threads == spans.source_threads[entries.owners]
    is_sink = threads == spans.sink_threads[entries.owners]
    names[is_sink & ~is_source] = SINK_ANCHOR
    others = np.flatnonzero(~is_source & ~is_sink)
    if len(others):
        numbers = np.cumsum(np.bincount(threads[others]) > 0)
        width = int(numbers[-1])
        pairs = entries.owners[others] * width + numbers[threads[others]] - 1
        names[others] = OTHER_ANCHOR + _by_appearance(pairs, width, len(spans.runs))[pairs]
    return names


def _by_appearance(pairs: Indexes, width: int, owners: int) -> Indexes:
    """By pair of owner and thread: how many threads appeared before it with the same owner."""
    never = len(pairs)
    first = np.full(owners * width, never)
    first[pairs[::-1]] = np.arange(never - 1, -1, -1)  # the last assignment stays
    ranks = np.argsort(np.argsort(first.reshape(owners, width), axis=1), axis=1)
    return ranks.ravel()


def shares(
    view: View, spans: Spans, entries: Entries, names: Indexes
) -> dict[tuple[int, int, int], float]:
    """Per (window, point, anchor): the share of the spans in which it is, in any context."""
    points = view.points[view.nodes[entries.indexes]]
    width = int(names.max(initial=0)) + 1
    limit = int(points.max(initial=0)) + 1
    groups = (entries.windows * limit + points) * width + names
    every = len(spans.runs)
    keys = groups * every + entries.owners
    # Once a span, however often there. The narrower, the faster to sort; the divisor must fit, too.
    present, _ = distinct(keys.astype(np.min_scalar_type(max(int(keys.max(initial=0)), every))))
    found, counts = distinct(present // every)
    return {
        (group // width // limit, group // width % limit, group % width): count / every
        for group, count in zip(found.tolist(), counts.tolist(), strict=True)
    }


def region_nodes(
    view: View, spans: Spans, kept: list[Confident], options: ReconOptions
) -> list[list[Node]]:
    """The nodes of prefix, body and suffix in the order of their mean position; roles still 0."""
    # Only what is shown is limited: R has been counted over whole regions (counting.py).
    kept = [_limited(view, spans, window, kept[window], options) for window in range(3)]
    # A point's share is over all its contexts, so other nodes of the points kept count too.
    visible = [mask_of(view, view.points[region.nodes]) for region in kept]
    entries = gather(view, spans, visible)
    names = anchors(view, spans, entries)
    point_shares = shares(view, spans, entries, names)
    result = []
    for window, region in enumerate(kept):
        rows = np.flatnonzero(entries.windows == window)
        found, numbers = find_keys(region.nodes.astype(np.int32), view.nodes[entries.indexes[rows]])
        shown = entries.take(rows[found])
        nodes = _Appearances(
            numbers=numbers,
            names=names[rows[found]],
            positions=_positions(spans, shown, window, options),
            same_cell=view.cells(shown.indexes, spans.runs[shown.owners])
            == spans.cells[shown.owners],
        ).nodes(view, region, len(spans.runs), lambda *key, at=window: point_shares[at, *key])
        # Recon 3.3 leaves a region's nodes unordered, as times of different runs cannot be
        # compared. Positions relative to the region can.
        result.append(sorted(nodes, key=lambda node: (node.position, node.point, node.context)))
    return result


def _positions(spans: Spans, shown: Entries, window: int, options: ReconOptions) -> Floats:
    """Where appearances are within their region, between 0 and 1."""
    first, last = spans.regions[window].T
    length = last - first if WINDOWS[window] == "body" else np.full(len(first), options.window)
    # A window that is not full lies close to the edge: the prefix fills up from its end.
    start = last - options.window if WINDOWS[window] == "prefix" else first
    positions: Floats = (shown.indexes - (start - 1)[shown.owners]) / (length + 1)[shown.owners]
    return positions


def _limited(
    view: View, spans: Spans, window: int, region: Confident, options: ReconOptions
) -> Confident:
    """Cuts a region: best confidence first, then nodes that touch the edge's cell."""
    if len(region.nodes) <= options.region_limit:
        return region
    bounds = spans.regions[window]
    indexes, lengths = expanded(*bounds.T), bounds[:, 1] - bounds[:, 0]
    same = view.cells(indexes, np.repeat(spans.runs, lengths)) == np.repeat(spans.cells, lengths)
    touches = np.zeros(len(view), dtype=bool)
    touches[view.nodes[indexes[same]]] = True
    order = np.lexsort((region.nodes, ~touches[region.nodes], -region.counts))
    best = np.sort(order[: options.region_limit])
    return Confident(region.nodes[best], region.counts[best])


def mask_of(view: View, points: Indexes) -> npt.NDArray[np.bool_]:
    """A mask over all points of the view."""
    mask = np.zeros(view.point_limit, dtype=bool)
    mask[points[points < len(mask)]] = True
    return mask


class _Appearances(NamedTuple):
    """The appearances of the nodes kept in one window, to be summed up by their number."""

    numbers: Indexes
    names: Indexes
    positions: Floats
    same_cell: npt.NDArray[np.bool_]

    def nodes(
        self, view: View, region: Confident, runs: int, share: Callable[[int, int], float]
    ) -> list[Node]:
        """One Node for each node kept; `share` is that of a point and an anchor."""
        if not len(region.nodes):
            return []
        size = len(region.nodes)
        total = np.bincount(self.numbers, minlength=size)
        mean = np.bincount(self.numbers, self.positions, minlength=size) / total
        same_cell = np.bincount(self.numbers, self.same_cell, minlength=size) / total
        name = _majority(self.numbers, self.names, size)
        points = view.points[region.nodes].tolist()
        contexts = view.contexts[region.nodes].tolist()
        return [
            Node(
                point=points[row],
                context=contexts[row],
                confidence=int(region.counts[row]) / runs,
                position=round(float(mean[row]), 9),
                role=0,
                share=share(points[row], int(name[row])),
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
