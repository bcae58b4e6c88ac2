# SPDX-License-Identifier: Apache-2.0
"""The other variable: a conflict of the edge's two threads in the opposite direction.

Where the edge's own cell has no third access, the bug is one of order, or of two variables: one
thread came first on this cell and last on another. That other conflict is what a reader misses in
the reconstruction; it may lie outside of its windows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unsnarl.analyses.recon.aggregate import SINK_ANCHOR, SOURCE_ANCHOR
from unsnarl.analyses.recon.triples import Companion
from unsnarl.model.evidence import Evidence
from unsnarl.model.ordered import open_patterns
from unsnarl.model.pattern import PatternKind, Patterns, kinds_of
from unsnarl.model.report import Region


class _End(NamedTuple):
    """One end of the closing conflict."""

    point: int
    region: Region
    anchor: int


def closing(
    failing: Sequence[Evidence],
    runs: Sequence[int],
    edges: Sequence[np.void],
    sync: npt.NDArray[np.bool_],
) -> list[Companion]:
    """Both ends of the conflict that most often closes the edge to a cycle, in time order."""
    found: Counter[tuple[_End, ...]] = Counter()
    for run, edge in zip(runs, edges, strict=True):
        if edge["source_thread"] != edge["sink_thread"]:
            found.update(_tightest(failing[run], edge, sync))
    return [
        Companion(end.point, end.region, end.anchor, count / len(runs), same_cell=0.0)
        for ends, count in found.most_common(1)
        for end in ends
    ]


def _tightest(run: Evidence, edge: np.void, sync: npt.NDArray[np.bool_]) -> list[tuple[_End, ...]]:
    """Of the conflicts that go back, the one nearest to the edge."""
    rows = _going_back(run.patterns, edge)
    rows = rows[open_patterns(rows, run.orders)]
    rows = rows[~(sync[rows["first_point"]] | sync[rows["other_point"]])]
    if not len(rows):
        return []
    first = np.minimum(rows["first_time"], edge["source_time"])
    last = np.maximum(rows["other_time"], edge["sink_time"])
    best = rows[np.argmin(last - first)]
    ends = (
        _End(int(best["first_point"]), _region(best["first_time"], edge), SINK_ANCHOR),
        _End(int(best["other_point"]), _region(best["other_time"], edge), SOURCE_ANCHOR),
    )
    return [ends]


def _going_back(patterns: Patterns, edge: np.void) -> Patterns:
    """Conflicts on other cells from the sink's thread to the source's, around the same time.

    Patterns rather than edges: a cell's graph forgets a read when the next one comes. Either the
    thread of the source is the first of all and the last: then the way back begins after the
    source. Or the other thread is: then it begins before.
    """
    back = (patterns["first_thread"] == edge["sink_thread"]) & (
        patterns["other_thread"] == edge["source_thread"]
    )
    back &= (kinds_of(patterns) < PatternKind.RWR) & (patterns["cell"] != edge["cell"])
    rows: Patterns = patterns[np.flatnonzero(back)]
    after = rows["first_time"] > edge["source_time"]
    before = (rows["first_time"] < edge["source_time"]) & (rows["other_time"] < edge["sink_time"])
    kept: Patterns = rows[after | before]
    return kept


def _region(time: int, edge: np.void) -> Region:
    if time < edge["source_time"]:
        return "prefix"
    return "body" if time < edge["sink_time"] else "suffix"
