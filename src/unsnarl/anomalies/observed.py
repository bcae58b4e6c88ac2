# SPDX-License-Identifier: Apache-2.0
"""What bursts have seen, in the numbers of anchored points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unsnarl.anomalies.baseline import Edge
from unsnarl.anomalies.points import AnchoredPoints, anchored
from unsnarl.model.graph import EDGE, Edges, Graph
from unsnarl.model.sources import Sources
from unsnarl.runfile import Interner, RunFile, SiteTable

# An edge without its threads, times and cell.
KEY = ("source_point", "sink_point", "source_context", "sink_context")


@dataclass(frozen=True, eq=False)
class Observation:
    """One burst, or one run: who saw what, when."""

    instance: str
    time: float
    edges: Edges


class Reader:
    """Reads the runs of one process, or of one campaign, into anchored points."""

    def __init__(self, table: SiteTable, root: Path, points: AnchoredPoints) -> None:
        self._interner = Interner(table)
        self._sources = Sources(root)
        self._points = points
        self._indexes: dict[int, int] = {}

    def edges(self, run: RunFile) -> Edges:
        """The edges of a run between accesses of data; what locks do is no communication."""
        edges = self._interner.graph(run).edges
        sync = self._interner.sync_mask() if len(self._interner) else np.empty(0, dtype=bool)
        kept: Edges = edges[~(sync[edges["source_point"]] | sync[edges["sink_point"]])]
        for name in ("source_point", "sink_point"):
            unique, inverse = np.unique(kept[name], return_inverse=True)
            numbers = [self._index(one) for one in unique.tolist()]
            kept[name] = np.array(numbers, dtype=np.uint32)[inverse]
        return kept

    def _index(self, own: int) -> int:
        point = self._interner.point(own)
        if own not in self._indexes or point.site.variable:
            self._indexes[own] = self._points.index(anchored(point, self._sources), point)
        return self._indexes[own]


def rows(edges: Edges, points: AnchoredPoints) -> Iterator[tuple[Edge, int]]:
    """Each edge by its anchors, with its count."""
    columns = [edges[name].tolist() for name in (*KEY, "count")]
    for source, sink, before, after, count in zip(*columns, strict=True):
        yield (points.anchors[source], points.anchors[sink], before, after), count


def as_graph(edges: Edges) -> Graph:
    """For the methods."""
    return Graph(edges.astype(EDGE, copy=False))
