# SPDX-License-Identifier: Apache-2.0
"""Code points as answers: each with the code point that it communicates with most.

The paper's list has code points alone. One end of an edge says little to a reader, so the answer
shows the other end as well: that of the pair of points which most failing runs have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from unsnarl.analyses.answer import Answer, Line
from unsnarl.analyses.bugaboo.communication import (
    ENDS,
    Communication,
    best_shown,
    communication,
    most_frequent,
)
from unsnarl.analyses.bugaboo.graphs import BugabooOptions, Indexes, RankedGraph, ranked_graphs
from unsnarl.analyses.bugaboo.ranking import rank_graphs
from unsnarl.model.evidence import Comparison, PointTable


class _Shown(NamedTuple):
    """A code point in an answer.

    Attributes:
        pair: The points of the source and of the sink.
        end: Which of them is the code point.
        runs: By failing run that has the code point: the threads of source and sink.
        having: How many of these runs have the pair.
        passing: As `runs`, the number of passing runs, and of those that have the pair.
    """

    pair: tuple[int, int]
    end: int
    runs: dict[int, dict[int, int]]
    having: int
    passing: tuple[int, int]


def answers(comparison: Comparison, options: BugabooOptions | None = None) -> list[Answer]:
    """Ranks code points, the most suspicious first; the score is 1/rank.

    Equals are ordered by the number of runs, then by site. Without labels, an answer may be about a
    code point that no failing run has: then it has no runs.
    """
    options = options or BugabooOptions()
    graphs = ranked_graphs(comparison, options)
    ranked = rank_graphs(graphs, comparison.points)
    values = ranked.values[: options.keep].tolist()
    shown = _shown(graphs, comparison.points, ranked.sites[: options.keep])
    return [
        Answer(
            method="bugaboo" if options.labelled else "bugaboo-unlabelled",
            score=1 / value,
            features={"rank": value},
            lines=_lines(one, len(comparison.failing), len(comparison.passing)),
            runs=tuple(one.runs),
            passing=one.passing[0],
            threads=one.runs,
        )
        for value, one in zip(values, shown, strict=True)
    ]


def _shown(ranked: Sequence[RankedGraph], points: PointTable, sites: Indexes) -> list[_Shown]:
    found = communication(ranked, points, sites)
    passes = np.array([graph.failing is None for graph in ranked], dtype=bool)
    chosen = most_frequent(found, passes, points.order)
    rows = best_shown(found, chosen)
    firsts = np.searchsorted(rows["number"], np.arange(len(sites) + 1)).tolist()
    return [
        _shown_by(pair, rows[first:last], ranked)
        for pair, first, last in zip(chosen, firsts, firsts[1:], strict=False)
    ]


def _shown_by(pair: np.void, rows: Communication, ranked: Sequence[RankedGraph]) -> _Shown:
    """A code point, from its rows: one for each run that has it."""
    end = int(pair["end"])
    points = (int(pair["source_point"]), int(pair["sink_point"]))
    has_pair = (
        (rows["end"] == end)
        & (rows["source_point"] == points[0])
        & (rows["sink_point"] == points[1])
    )
    runs, having, passing = {}, 0, [0, 0]
    for row, has in zip(rows, has_pair.tolist(), strict=True):
        failing = ranked[row["graph"]].failing
        if failing is None:
            passing[0] += 1
            passing[1] += has
        else:
            # At the other end of its edge, the code point still is what the answer is about.
            ends = ENDS if row["end"] == end else ENDS[::-1]
            runs[failing] = {at: int(row[f"{name}_thread"]) for at, name in enumerate(ends)}
            having += has
    return _Shown(points, end, runs, having, (passing[0], passing[1]))


def _lines(shown: _Shown, failing: int, passing: int) -> tuple[Line, ...]:
    """Source and sink. All runs of an answer have its code point, not all have the pair."""
    share = len(shown.runs) / max(failing, 1) - shown.passing[0] / max(passing, 1)
    having = shown.having / len(shown.runs) if shown.runs else shown.passing[1] / shown.passing[0]
    return tuple(
        Line(
            point=shown.pair[end],
            region=region,
            role=end + 1,
            confidence=1.0 if end == shown.end else having,
            time=end + 1.0,
            separation=share,
            same_cell=1.0,
            anchor=end,
        )
        for end, region in enumerate(ENDS)
    )
