# SPDX-License-Identifier: Apache-2.0
"""From ranked reconstructions to a few short findings. Changes what is shown, never a score.

A reconstruction names every node that was usually near its edge; most of them were near it in
passing runs too. A line stays if it says something about this failure:

- it is the source or the sink; or
- it touches the edge's own cell; or
- it *separates*: its point is in that region, in that thread, more often around this edge in
  failing runs than around the same pair of points in passing runs. If passing runs never have the
  pair, there is nothing to compare regions with: then the point must be rarer in passing runs
  altogether;

and it was there in enough of the failing runs. Findings are filled up to `minimum` lines, best
first, and cut at `limit`. Reconstructions that show the same points in the same order are one
finding, with the best score.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unsnarl.analyses.answer import Line
from unsnarl.analyses.recon.aggregate import WINDOWS, anchors, gather, mask_of, shares
from unsnarl.analyses.recon.keys import Keys, NodeKeys
from unsnarl.analyses.recon.reconstruction import (
    REGIONS,
    Node,
    Options,
    Reconstruction,
    time_of,
)
from unsnarl.analyses.recon.timelines import Spans, Timelines, find_keys, grouped
from unsnarl.analyses.recon.triples import Companion, companions
from unsnarl.model.finding import Region
from unsnarl.model.graph import Edges, Graph

SAME = 0.1  # below this difference, failing and passing runs show a line alike
SURE = 0.75  # lines that only fill up must be there this often

Presence = dict[tuple[Region, int, int], float]


@dataclass(frozen=True)
class Focus:
    """What to show.

    Attributes:
        findings: So many findings are made.
        consider: So many reconstructions are looked at, the best ones.
        confidence: A line needs so large a share of its region's best confidence.
        separation: A line that touches another cell needs so great a difference between the
            shares of failing and passing runs.
        same_cell: A line touches the edge's cell if so many of its appearances did.
        minimum: Fill up to so many lines, if there are any.
        limit: Cut at so many lines.
        occurrences: So many occurrences of a pair are looked at in a passing run, the latest.
    """

    findings: int = 10
    consider: int = 50
    confidence: float = 0.75
    separation: float = 0.5
    same_cell: float = 0.5
    minimum: int = 4
    limit: int = 6
    occurrences: int = 4


@dataclass(frozen=True)
class Focused:
    """A finding: the reconstruction with the best score of those that show these lines."""

    reconstruction: Reconstruction
    lines: tuple[Line, ...]
    merged: int


def focus(
    ranked: Sequence[Reconstruction],
    passing: Sequence[Graph],
    options: Options | None = None,
    settings: Focus | None = None,
    failing: Sequence[Graph] = (),
) -> list[Focused]:
    """Trims the best reconstructions to their telling lines and merges those that agree.

    Args:
        ranked: What `rank` returned.
        passing: The passing graphs that `rank` was given.
        options: The options that `rank` was given.
        settings: What to show.
        failing: The failing graphs that `rank` was given, to complete triples from.
    """
    options, settings = options or Options(), settings or Focus()
    considered = ranked[: settings.consider]
    normal = _Normal(considered, passing, options, settings)
    findings: dict[tuple[tuple[int, int], ...], Focused] = {}
    for reconstruction in considered:
        presence = normal.presence(reconstruction)
        found = _lines(reconstruction, presence)
        if failing:
            found = _with_companions(found, companions(failing, reconstruction))
        lines = _numbered(_trimmed(_without_echoes(found), settings))
        shown = tuple((line.point, line.role) for line in lines)
        best = findings.get(shown, Focused(reconstruction, lines, 0))
        findings[shown] = replace(best, merged=best.merged + 1)
    return list(findings.values())[: settings.findings]


def _lines(reconstruction: Reconstruction, presence: _Presence) -> list[Line]:
    """One line per point, region and thread, with the highest confidence of its nodes."""
    lines: dict[tuple[Region, int, int], Line] = {}
    for region in REGIONS:
        for node in reconstruction.regions[region]:
            line = _line(region, node, presence)
            key = (region, node.point, node.anchor)
            if key not in lines or lines[key].confidence < line.confidence:
                lines[key] = line
    return list(lines.values())


def _with_companions(lines: list[Line], found: list[Companion]) -> list[Line]:
    """Adds what completes a triple, unless the window reached it."""
    known = {(line.point, line.region, line.anchor) for line in lines}
    times = [line.time for line in lines]
    return lines + [
        Line(
            point=one.point,
            region=one.region,
            role=0,
            confidence=one.share,
            time=min(times) - 1 if one.region == "prefix" else max(times) + 1,
            separation=1.0,
            same_cell=1.0,
            anchor=one.anchor,
        )
        for one in found
        if one.share >= SURE and (one.point, one.region, one.anchor) not in known
    ]


def _without_echoes(lines: list[Line]) -> list[Line]:
    """Drops repetitions of the source and the sink by the same thread.

    An operation on an element also touches the shape of its container, and loops come by again.
    """
    ends = {(line.point, line.anchor) for line in lines if line.is_end}
    return [line for line in lines if line.is_end or (line.point, line.anchor) not in ends]


def _line(region: Region, node: Node, presence: _Presence) -> Line:
    return Line(
        point=node.point,
        region=region,
        role=node.role,
        confidence=node.confidence,
        time=time_of(region, node),
        separation=node.share - presence.of(region, node),
        same_cell=node.same_cell,
        anchor=node.anchor,
    )


def _trimmed(lines: list[Line], settings: Focus) -> list[Line]:
    best = {
        region: max((line.confidence for line in lines if line.region == region), default=0.0)
        for region in REGIONS
    }
    ranked = sorted(lines, key=lambda line: (not line.is_end, -line.relevance, line.time))
    telling = [line for line in ranked if _tells(line, best[line.region], settings)]
    kept = _without_bystanders(telling[: settings.limit])
    rest = [line for line in _nearest_first(lines) if line not in telling]
    kept += rest[: max(min(settings.minimum, settings.limit) - len(kept), 0)]
    return sorted(kept, key=lambda line: (line.time, REGIONS.index(line.region), line.point))


def _tells(line: Line, best: float, settings: Focus) -> bool:
    if line.is_end:
        return True
    frequent = line.confidence >= settings.confidence * best
    related = line.same_cell >= settings.same_cell or line.separation >= settings.separation
    return frequent and related


def _without_bystanders(lines: list[Line]) -> list[Line]:
    """Drops threads that show only what every run shows: the main thread setting things up."""
    telling = {line.anchor for line in lines if line.is_end or line.separation > SAME}
    return [line for line in lines if line.anchor in telling]


def _nearest_first(lines: list[Line]) -> list[Line]:
    """Lines by their distance from the edge: its two threads' first, and what led to it."""
    ends = [line for line in lines if line.is_end]
    anchors = {line.anchor for line in ends}

    def distance(line: Line) -> tuple[bool, bool, float]:
        apart = min(abs(line.time - end.time) for end in ends)
        return line.anchor not in anchors, line.region == "suffix", apart

    return sorted((line for line in lines if line.confidence >= SURE), key=distance)


def _numbered(lines: Iterable[Line]) -> tuple[Line, ...]:
    """Numbers the threads again: the one that appeared first may have been trimmed away."""
    roles: dict[int, int] = {}
    return tuple(
        replace(line, role=roles.setdefault(line.anchor, len(roles) + 1)) for line in lines
    )


class _Presence:
    """How often points are where they are in passing runs too."""

    def __init__(self, around: Presence | None, anywhere: dict[int, float]) -> None:
        self._around = around
        self._anywhere = anywhere

    def of(self, region: Region, node: Node) -> float:
        """The share of passing runs to compare a node's share with."""
        if self._around is None:
            return self._anywhere.get(node.point, 0.0)
        return self._around.get((region, node.point, node.anchor), 0.0)


class _Normal:
    """What passing runs do around the pairs of points of some reconstructions."""

    def __init__(
        self,
        ranked: Sequence[Reconstruction],
        passing: Sequence[Graph],
        options: Options,
        settings: Focus,
    ) -> None:
        self._options = options
        self._settings = settings
        self._passing = [graph for graph in passing if len(graph)]
        self._views: dict[bool, tuple[Timelines, Spans]] = {}
        self._anywhere = _share_of_runs(passing)
        if self._passing:
            self._timelines = Timelines(NodeKeys(self._passing), self._passing, options)
        pairs = [_pair(one.source.point, one.sink.point) for one in ranked]
        self._pairs: Keys = np.unique(np.array(pairs, dtype=np.uint64))

    def presence(self, reconstruction: Reconstruction) -> _Presence:
        """What to compare the nodes of a reconstruction with."""
        if not self._passing:
            return _Presence(None, self._anywhere)
        timelines, spans = self._view(reconstruction)
        pair = np.uint64(_pair(reconstruction.source.point, reconstruction.sink.point))
        wanted = np.searchsorted(self._pairs, pair)
        first, last = np.searchsorted(spans["wanted"], [wanted, wanted + 1])
        if first == last:
            return _Presence(None, self._anywhere)
        return _Presence(_around(timelines, spans[first:last], reconstruction), self._anywhere)

    def _view(self, reconstruction: Reconstruction) -> tuple[Timelines, Spans]:
        data_only = _sees_data_only(reconstruction, self._options)
        if data_only not in self._views:
            seen = self._timelines.data_only() if data_only else self._timelines
            self._views[data_only] = (seen, self._occurrences(seen))
        return self._views[data_only]

    def _occurrences(self, timelines: Timelines) -> Spans:
        parts = []
        for run, graph in enumerate(self._passing):
            rows, wanted = find_keys(self._pairs, _pairs(graph.edges))
            parts.append(timelines.spans(run, graph.edges[rows], wanted))
        spans = grouped(parts)
        # Groups of one pair and run end where either changes; rows are in time order inside.
        ends = np.flatnonzero(
            np.append((np.diff(spans["wanted"]) != 0) | (np.diff(spans["run"]) != 0), [True])
        )
        age = np.repeat(ends, np.diff(ends, prepend=-1)) - np.arange(len(spans))
        recent: Spans = spans[age < self._settings.occurrences]
        return recent


def _around(timelines: Timelines, spans: Spans, reconstruction: Reconstruction) -> Presence:
    visible = [
        mask_of(timelines, np.array([node.point for node in reconstruction.regions[region]], int))
        for region in WINDOWS
    ]
    entries = gather(timelines, spans, visible)
    found = shares(timelines, spans, entries, anchors(timelines, spans, entries))
    return {(WINDOWS[window], point, name): share for (window, point, name), share in found.items()}


def _sees_data_only(reconstruction: Reconstruction, options: Options) -> bool:
    if options.sync_points is None or options.sync == "keep":
        return False
    if options.sync == "drop":
        return True
    ends = [reconstruction.source.point, reconstruction.sink.point]
    return not bool(options.sync_points[ends].any())


def _share_of_runs(graphs: Sequence[Graph]) -> dict[int, float]:
    counts: dict[int, int] = {}
    for graph in graphs:
        both = np.concatenate((graph.edges["source_point"], graph.edges["sink_point"]))
        for point in np.unique(both).tolist():
            counts[point] = counts.get(point, 0) + 1
    return {point: count / len(graphs) for point, count in counts.items()}


def _pair(source: int, sink: int) -> int:
    return source << 32 | sink


def _pairs(edges: Edges) -> Keys:
    pairs: Keys = edges["source_point"].astype(np.uint64) << np.uint64(32) | edges["sink_point"]
    return pairs
