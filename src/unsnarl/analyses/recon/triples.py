# SPDX-License-Identifier: Apache-2.0
"""The other half of an atomicity violation, however far away it is.

An edge shows one conflict. If the thread at one of its ends had touched the same cell before, or
touches it again after, the three accesses are the triple that AVIO and Falcon look for: the check
before the other thread's write, the write that overwrites it. A window of five nodes (Recon 3.2)
often ends before that access; the cell leads to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from unsnarl.analyses.recon.aggregate import SINK_ANCHOR, SOURCE_ANCHOR
from unsnarl.analyses.recon.reconstruction import Reconstruction
from unsnarl.model.graph import Edges, Graph
from unsnarl.model.report import Region


class Companion(NamedTuple):
    """An access by one of the edge's threads, outside of the edge."""

    point: int
    region: Region
    anchor: int
    share: float
    same_cell: float = 1.0


def companions(
    failing: Sequence[Graph],
    reconstruction: Reconstruction,
    edges: Sequence[np.void | None] | None = None,
) -> list[Companion]:
    """The access before the source by the sink's thread, and after the sink by the source's.

    Args:
        failing: The graphs of all failing runs.
        reconstruction: What to complete.
        edges: Its edge in each of its runs, if known.
    """
    edges = edges or [reconstruction.occurrence(failing[run]) for run in reconstruction.runs]
    before: Counter[int] = Counter()
    after: Counter[int] = Counter()
    for run, edge in zip(reconstruction.runs, edges, strict=True):
        if edge is not None and edge["source_thread"] != edge["sink_thread"]:
            # One column first: rows are wide, and few of them touch the cell.
            rows = np.flatnonzero(failing[run].edges["cell"] == edge["cell"])
            same_cell = failing[run].edges[rows]
            before.update(_nearest(same_cell, edge, before=True))
            after.update(_nearest(same_cell, edge, before=False))
    runs = len(reconstruction.runs)
    found = [Companion(p, "prefix", SINK_ANCHOR, n / runs) for p, n in before.most_common(1)]
    found += [Companion(p, "suffix", SOURCE_ANCHOR, n / runs) for p, n in after.most_common(1)]
    return found


def _nearest(edges: Edges, edge: np.void, *, before: bool) -> list[int]:
    """The point of the closest of some accesses by the thread of the edge's other end."""
    thread = edge["sink_thread"] if before else edge["source_thread"]
    best: tuple[int, int] | None = None
    for side in ("source", "sink"):
        times = edges[f"{side}_time"]
        mine = edges[f"{side}_thread"] == thread
        mine &= times < edge["source_time"] if before else times > edge["sink_time"]
        rows = np.flatnonzero(mine)
        if len(rows):
            row = rows[np.argmax(times[rows]) if before else np.argmin(times[rows])]
            found = (int(times[row]), int(edges[f"{side}_point"][row]))
            best = found if best is None else (max if before else min)(best, found)
    return [best[1]] if best is not None else []
