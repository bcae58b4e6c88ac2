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
from functools import lru_cache

import numpy as np

from unsnarl.analyses.answer import Line
from unsnarl.analyses.recon.aggregate import WINDOWS, anchors, gather, mask_of, shares
from unsnarl.analyses.recon.index import Index, indexed
from unsnarl.analyses.recon.keys import Extent, distinct, tally
from unsnarl.analyses.recon.reconstruction import (
    REGIONS,
    Node,
    ReconOptions,
    Reconstruction,
    time_of,
)
from unsnarl.analyses.recon.resolution import Layout
from unsnarl.analyses.recon.timelines import Spans, Timelines, View, Views, grouped
from unsnarl.analyses.recon.triples import Companion, companions
from unsnarl.model.graph import CONTEXT_MOST, Graph
from unsnarl.model.report import Region

SAME = 0.1  # below this difference, failing and passing runs show a line alike
SURE = 0.75  # lines that only fill up must be there this often
# What completes a reconstruction has no position of its own on the axis of regions (`time_of`).
BETWEEN, SOON = 1.5, 0.01

Presence = dict[tuple[Region, int, int], float]
Shown = tuple[tuple[int, int], ...]


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

    @property
    def shown(self) -> Shown:
        """What makes it the same finding as another."""
        return tuple((line.point, line.role) for line in self.lines)


def focus(
    ranked: Sequence[Reconstruction],
    passing: Sequence[Graph],
    options: ReconOptions | None = None,
    settings: Focus | None = None,
    failing: Sequence[Graph] = (),
) -> list[Focused]:
    """Trims the best reconstructions to their relevant lines and merges those that agree.

    Args:
        ranked: What `rank` returned.
        passing: The passing graphs that `rank` was given.
        options: The options that `rank` was given.
        settings: What to show.
        failing: The failing graphs that `rank` was given, to complete triples from.
    """
    options, settings = options or ReconOptions(), settings or Focus()
    layout = Layout(passing, Extent.of(passing), (CONTEXT_MOST,))
    normal = Normal(indexed(passing, layout), layout, options, settings)
    findings: dict[Shown, Focused] = {}
    for reconstruction in ranked[: settings.consider]:
        found = companions(failing, reconstruction) if failing else []
        one = trimmed(reconstruction, normal, found, settings)
        best = findings.setdefault(one.shown, one)
        findings[one.shown] = replace(best, merged=best.merged + 1)
    return list(findings.values())[: settings.findings]


def trimmed(
    reconstruction: Reconstruction, normal: Normal, found: list[Companion], settings: Focus
) -> Focused:
    """One reconstruction cut down to its relevant lines, with what completes its triple."""
    lines = _with_companions(_lines(reconstruction, normal.presence(reconstruction)), found)
    lines = _trimmed(_without_echoes(lines), settings)
    return Focused(reconstruction, _numbered(lines), 0)


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
    by_key = {(line.point, line.region, line.anchor): line for line in lines}
    first, last = min(line.time for line in lines), max(line.time for line in lines)
    instants: dict[Region, float] = {"prefix": first - 1, "body": BETWEEN, "suffix": last + 1}
    added = {}
    for at, one in enumerate(one for one in found if one.share >= SURE):
        key = (one.point, one.region, one.anchor)
        time = by_key[key].time if key in by_key else instants[one.region] + at * SOON
        if key not in by_key or one.same_cell < by_key[key].same_cell or not one.same_cell:
            added[key] = Line(
                point=one.point,
                region=one.region,
                role=0,
                confidence=one.share,
                time=time,
                separation=1.0,
                same_cell=one.same_cell,
                anchor=one.anchor,
            )
    return list({**by_key, **added}.values())


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
    relevant = [line for line in ranked if _is_relevant(line, best[line.region], settings)]
    # Bystanders go before the list is filled up, so that the filling may take their room.
    kept = _without_bystanders(relevant[: settings.limit])
    rest = [line for line in _nearest_first(lines) if line not in relevant]
    kept += rest[: max(min(settings.minimum, settings.limit) - len(kept), 0)]
    return sorted(kept, key=lambda line: (line.time, REGIONS.index(line.region), line.point))


def _is_relevant(line: Line, best: float, settings: Focus) -> bool:
    if line.is_end:
        return True
    frequent = line.confidence >= settings.confidence * best
    related = line.same_cell >= settings.same_cell or line.separation >= settings.separation
    return frequent and related


def _without_bystanders(lines: list[Line]) -> list[Line]:
    """Drops threads that show only what every run shows: the main thread setting things up."""
    relevant = {line.anchor for line in lines if line.is_end or line.separation > SAME}
    return [line for line in lines if line.anchor in relevant]


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


class Normal:
    """What passing runs do around the pairs of points of reconstructions."""

    def __init__(
        self, passing: Sequence[Index], layout: Layout, options: ReconOptions, settings: Focus
    ) -> None:
        self._layout = layout
        self._options = options
        self._settings = settings
        self._passing = [index for index in passing if len(index.graph)]
        self._anywhere = _share_of_runs([index.graph for index in passing])
        graphs = [index.graph for index in self._passing]
        timelines = lru_cache(1)(lambda: Timelines(graphs, options))
        self._views = Views(graphs, lambda *view: timelines().view(*view).by_point())

    def presence(self, reconstruction: Reconstruction) -> _Presence:
        """What to compare the nodes of a reconstruction with."""
        if not self._passing:
            return _Presence(None, self._anywhere)
        low, high = self._layout.pair_bounds(reconstruction.source.point, reconstruction.sink.point)
        view = self._views.get(CONTEXT_MOST, _sees_data_only(reconstruction, self._options))
        # The first run is there even with nothing to show: no parts at all could not be joined.
        spans = grouped(
            view.spans(run, rows, np.zeros(len(rows), np.intp))
            for run, index in enumerate(self._passing)
            if len(rows := index.recent(low, high, self._settings.occurrences)) or run == 0
        )
        if not len(spans.runs):
            return _Presence(None, self._anywhere)
        return _Presence(_around(view, spans, reconstruction), self._anywhere)


def _around(view: View, spans: Spans, reconstruction: Reconstruction) -> Presence:
    visible = [
        mask_of(view, np.array([node.point for node in reconstruction.regions[region]], int))
        for region in WINDOWS
    ]
    entries = gather(view, spans, visible, once=True)
    found = shares(view, spans, entries, anchors(view, spans, entries))
    return {(WINDOWS[window], point, name): share for (window, point, name), share in found.items()}


def _sees_data_only(reconstruction: Reconstruction, options: ReconOptions) -> bool:
    if options.sync_points is None or options.sync == "keep":
        return False
    if options.sync == "drop":
        return True
    ends = [reconstruction.source.point, reconstruction.sink.point]
    return not bool(options.sync_points[ends].any())


def _share_of_runs(graphs: Sequence[Graph]) -> dict[int, float]:
    """By point: the share of runs that have it."""
    points = (
        distinct(np.concatenate((graph.edges["source_point"], graph.edges["sink_point"])))[0]
        for graph in graphs
    )
    found, counts = tally(some.astype(np.uint64) for some in points)
    return dict(zip(found.tolist(), (counts / max(1, len(graphs))).tolist(), strict=True))
