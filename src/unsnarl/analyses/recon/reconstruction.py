# SPDX-License-Identifier: Apache-2.0
"""Reconstructions and the options of their ranking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from unsnarl.model.graph import CONTEXT_MOST, Graph, context_mask
from unsnarl.model.report import Region

REGIONS: tuple[Region, ...] = ("prefix", "source", "body", "sink", "suffix")
# The instant at which a region starts on the axis of `Node.time`; source and sink are instants.
_STARTS: dict[Region, float] = {"prefix": 0, "source": 1, "body": 1, "sink": 2, "suffix": 2}


@dataclass(frozen=True, eq=False)
class ReconOptions:
    """How to rank; the defaults are the paper's, where it names a value.

    Attributes:
        window: Nodes in the prefix and in the suffix.
        edges: Reconstructions are made for so many edges, those with the highest B.
        keep: So many reconstructions are returned, the best ones.
        region_limit: So many nodes of a region are returned, those with the highest confidence;
            the score is always that of the whole region.
        sync: Whether lock and thread operations may be in a reconstruction. "auto": only in those
            around an edge between two of them. "drop" also passes over such edges.
        timeline: "latest": a node stands where it last happened (Recon 3.1). "all": wherever one
            of its edges says that it happened.
        sync_points: Mask of the points that are lock and thread operations.
        site_order: Rank of every point in the order of sites, for ties; by index if not given.
        context_sizes: Rank with contexts cut to so many events, and join the lists; 5 leaves them
            as recorded. Long contexts scatter the edges of a larger program until none is in many
            runs; shorter ones gather them again (docs/adr/0008).
    """

    # Recon 3.2.1: as long as a context.
    window: int = 5
    # Recon 5.3.
    edges: int = 2000
    keep: int = 50
    region_limit: int = 200
    sync: Literal["keep", "drop", "auto"] = "auto"
    timeline: Literal["latest", "all"] = "latest"
    sync_points: npt.NDArray[np.bool_] | None = None
    site_order: npt.NDArray[np.intp] | None = None
    context_sizes: tuple[int, ...] = (CONTEXT_MOST,)


class Node(NamedTuple):
    """A node in one region of a reconstruction.

    Attributes:
        confidence: Share of the supporting runs in which the node is in this region.
        position: Mean position within the region, from 0 (its start) to 1 (its end).
        role: Number of its thread, by first appearance in the reconstruction.
        share: As confidence, but for the point in any context (in the same thread).
        same_cell: Share of its appearances that accessed the cell of the edge.
        anchor: 0 for the thread of the source, 1 for that of the sink, higher for others.
    """

    point: int
    context: int
    confidence: float
    position: float
    role: int
    share: float
    same_cell: float
    anchor: int


@dataclass(frozen=True)
class Reconstruction:
    """An aggregated reconstruction around one edge; see `REGIONS` for the keys of `regions`."""

    score: float
    features: dict[str, float]
    regions: dict[Region, tuple[Node, ...]]
    runs: tuple[int, ...]
    body_size: int
    context_size: int = CONTEXT_MOST

    @property
    def source(self) -> Node:
        """The node that wrote."""
        return self.regions["source"][0]

    @property
    def sink(self) -> Node:
        """The node that read or overwrote what the source wrote."""
        return self.regions["sink"][0]

    @property
    def edge(self) -> tuple[int, int, int, int]:
        """Source point and context, sink point and context."""
        return (self.source.point, self.source.context, self.sink.point, self.sink.context)

    def occurrence(self, graph: Graph) -> np.void | None:
        """The row of a graph in which the edge happened last, or None."""
        edges = graph.edges
        mask = context_mask(self.context_size)
        rows = np.flatnonzero(
            (edges["source_point"] == self.source.point)
            & (edges["sink_point"] == self.sink.point)
            & (edges["source_context"] & mask == self.source.context)
            & (edges["sink_context"] & mask == self.sink.context)
        )
        return edges[rows[edges["sink_time"][rows].argmax()]] if len(rows) else None


def time_of(region: Region, node: Node) -> float:
    """When a node happened, on one axis for all regions: source at 1, sink at 2."""
    instant = _STARTS[region]
    return instant if region in ("source", "sink") else instant + node.position
