# SPDX-License-Identifier: Apache-2.0
"""Which code points communicate: their edges, gathered to pairs of points by run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from unsnarl.analyses.bugaboo.graphs import Indexes, RankedGraph
from unsnarl.model.evidence import PointTable
from unsnarl.model.report import Region

ENDS: tuple[Region, Region] = ("source", "sink")  # the number of an end is also its anchor

# One row: a code point (its number among the chosen ones) at one end of a pair of points, in one
# run (the index of its graph), in any contexts. Threads and time are those of the latest edge.
COMMUNICATION = np.dtype(
    [
        ("number", np.intp),
        ("end", np.intp),
        ("graph", np.intp),
        ("source_point", np.intp),
        ("sink_point", np.intp),
        ("source_thread", np.intp),
        ("sink_thread", np.intp),
        ("time", np.uint64),
        ("count", np.int64),
    ]
)
Communication = npt.NDArray[Any]

_HALF_WORD = np.uint64(32)
_PAIR = ("number", "end", "source_point", "sink_point")


def communication(
    ranked: Sequence[RankedGraph], points: PointTable, sites: Indexes
) -> Communication:
    """The communication of the chosen sites, in the edges that count."""
    numbers = np.full(len(points.function), -1, dtype=np.intp)
    numbers[sites] = np.arange(len(sites))
    by_point = numbers[points.site]
    found = [np.empty(0, dtype=COMMUNICATION)]
    for index, graph in enumerate(ranked):
        pairs = _pairs(graph, by_point >= 0)
        pairs["graph"] = index
        for end, name in enumerate(ENDS):
            pairs["number"] = by_point[pairs[f"{name}_point"]]
            pairs["end"] = end
            found.append(pairs[pairs["number"] >= 0])
    return np.concatenate(found)


def most_frequent(
    found: Communication, passes: npt.NDArray[np.bool_], order: Indexes
) -> Communication:
    """For each code point, a row of the pair that most failing runs have.

    Ties are broken by passing runs, then by count, then by the order of sites.

    Args:
        found: What `communication` returned.
        passes: By ranked graph: whether its run passed.
        order: By point: its rank in the order of sites.
    """
    if not len(found):
        return found
    found = found[np.lexsort([found[name] for name in reversed(_PAIR)])]
    starts = _starts(*(found[name] for name in _PAIR))
    passed = passes[found["graph"]]
    failing, passing, count = (
        np.add.reduceat(column.astype(np.int64), starts)
        for column in (~passed, passed, found["count"])
    )
    pairs = found[starts]
    ranks = [order[pairs[f"{name}_point"]] for name in reversed(ENDS)]
    best = np.lexsort((pairs["end"], *ranks, -count, -passing, -failing, pairs["number"]))
    chosen: Communication = pairs[best][_starts(pairs["number"][best])]
    return chosen


def best_shown(found: Communication, shown: Communication) -> Communication:
    """For each code point and run, the row that shows it best.

    That of the chosen pair if the run has it; else, one with the code point at the same end.

    Args:
        found: What `communication` returned.
        shown: By number: the row of its chosen pair.
    """
    wanted = shown[found["number"]]
    same_end = found["end"] == wanted["end"]
    same_pair = np.all([found[name] == wanted[name] for name in _PAIR], axis=0)
    return _fittest(found, same_end.astype(np.intp) + same_pair)


def latest_edges(found: Communication) -> Communication:
    """For each code point and run, its latest edge: one into it, if there is any."""
    return _fittest(found, found["end"])


def _fittest(found: Communication, fit: Indexes) -> Communication:
    """For each code point and run, in order, the row that fits best, and of those the latest."""
    found = found[np.lexsort((found["time"], fit, found["graph"], found["number"]))]
    stops = np.append(_starts(found["number"], found["graph"])[1:], len(found))
    best: Communication = found[stops[: len(found)] - 1]
    return best


def _pairs(graph: RankedGraph, wanted: npt.NDArray[np.bool_]) -> Communication:
    """The pairs of points of a run's edges, contexts aside, if a wanted point is among them."""
    source, sink = (graph.column(f"{end}_point") for end in ENDS)
    rows = np.flatnonzero(wanted[source] | wanted[sink])
    keys = source[rows].astype(np.uint64) << _HALF_WORD | sink[rows]
    order = np.argsort(keys)
    rows = rows[order]
    starts = _starts(keys[order])
    pairs = np.zeros(len(starts), dtype=COMMUNICATION)
    if not len(starts):
        return pairs
    latest = rows[_last_of_each(graph.column("sink_time")[rows], starts)]
    for end in ENDS:
        for what in ("point", "thread"):
            pairs[f"{end}_{what}"] = graph.column(f"{end}_{what}")[latest]
    pairs["time"] = graph.column("sink_time")[latest]
    pairs["count"] = np.add.reduceat(graph.column("count")[rows].astype(np.int64), starts)
    return pairs


def _last_of_each(times: npt.NDArray[np.uint64], starts: Indexes) -> Indexes:
    """Of each group of rows, one with the greatest time."""
    greatest = np.repeat(np.maximum.reduceat(times, starts), np.diff(starts, append=len(times)))
    rows = np.flatnonzero(times == greatest)
    return rows[np.searchsorted(rows, starts)]


def _starts(*columns: npt.NDArray[Any]) -> Indexes:
    """Where sorted columns begin to have new values."""
    changes = np.ones(len(columns[0]), dtype=bool)
    if len(changes):
        changes[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return np.flatnonzero(changes)
