# SPDX-License-Identifier: Apache-2.0
"""The timestamped, context-aware communication graph of one run (Recon 3.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

# One row per edge. Points are campaign-wide indexes (runfile/sites.py), not raw site ids, so that
# the same row means the same code in every run.
EDGE = np.dtype(
    [
        ("source_point", "<u4"),
        ("sink_point", "<u4"),
        ("source_context", "<u2"),
        ("sink_context", "<u2"),
        ("source_thread", "<u2"),
        ("sink_thread", "<u2"),
        ("source_time", "<u8"),
        ("sink_time", "<u8"),
        ("cell", "<u8"),
        ("count", "<u4"),
        ("reserved", "<u4"),
    ]
)

# Bits of one event in a context, the newest event lowest; 0 is no event (native/tracker/tracker.h).
CONTEXT_BITS = 3
CONTEXT_MOST = 5  # events: as many as 16 bits hold

Edges = npt.NDArray[Any]


def context_mask(size: int) -> int:
    """The bits of the newest `size` events of a context."""
    return (1 << CONTEXT_BITS * min(size, CONTEXT_MOST)) - 1


class Graph:
    """The edges of one run; rows are unique by (source node, sink node)."""

    __slots__ = ("edges",)

    def __init__(self, edges: Edges) -> None:
        if edges.dtype != EDGE:
            raise TypeError(f"edges must have dtype EDGE, not {edges.dtype}")
        self.edges = edges

    def __len__(self) -> int:
        return len(self.edges)
