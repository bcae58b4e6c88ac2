# SPDX-License-Identifier: Apache-2.0
"""Who talks to whom: the edges of some code points, gathered to pairs of points by run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from unsnarl.analyses.bugaboo.graphs import Indexes, Part
from unsnarl.model.evidence import Places
from unsnarl.model.finding import Region

ENDS: tuple[Region, Region] = ("source", "sink")  # the number of an end is also its anchor

# One row: a code point (its number among the chosen ones) at one end of a pair of points, in one
# run (its place among the parts), in any contexts. Threads and time are those of the latest edge.
TALK = np.dtype(
    [
        ("number", np.intp),
        ("end", np.intp),
        ("part", np.intp),
        ("source_point", np.intp),
        ("sink_point", np.intp),
        ("source_thread", np.intp),
        ("sink_thread", np.intp),
        ("time", np.uint64),
        ("count", np.int64),
    ]
)
Talk = npt.NDArray[Any]

_HALF_WORD = np.uint64(32)
_PAIR = ("number", "end", "source_point", "sink_point")


def talk(ranked: Sequence[Part], places: Places, sites: Indexes) -> Talk:
    """All that the chosen sites say and hear in the edges that count."""
    numbers = np.full(len(places.function), -1, dtype=np.intp)
    numbers[sites] = np.arange(len(sites))
    by_point = numbers[places.site]
    found = [np.empty(0, dtype=TALK)]
    for place, part in enumerate(ranked):
        pairs = _pairs(part, by_point >= 0)
        pairs["part"] = place
        for end, name in enumerate(ENDS):
            pairs["number"] = by_point[pairs[f"{name}_point"]]
            pairs["end"] = end
            found.append(pairs[pairs["number"] >= 0])
    return np.concatenate(found)


def most_frequent(said: Talk, passes: npt.NDArray[np.bool_], order: Indexes) -> Talk:
    """For each code point, a row of the pair that most failing runs have.

    Equals are told apart by passing runs, then by count, then by the order of sites.

    Args:
        said: What `talk` returned.
        passes: By part: whether the run passed.
        order: By point: its place in the order of sites.
    """
    if not len(said):
        return said
    said = said[np.lexsort([said[name] for name in reversed(_PAIR)])]
    starts = _starts(*(said[name] for name in _PAIR))
    passed = passes[said["part"]]
    failing, passing, count = (
        np.add.reduceat(column.astype(np.int64), starts)
        for column in (~passed, passed, said["count"])
    )
    pairs = said[starts]
    places = [order[pairs[f"{name}_point"]] for name in reversed(ENDS)]
    best = np.lexsort((pairs["end"], *places, -count, -passing, -failing, pairs["number"]))
    chosen: Talk = pairs[best][_starts(pairs["number"][best])]
    return chosen


def best_shown(said: Talk, shown: Talk) -> Talk:
    """For each code point and run, the row that shows it best.

    That of the chosen pair if the run has it; else, one with the code point at the same end.

    Args:
        said: What `talk` returned.
        shown: By number: the row of its chosen pair.
    """
    wanted = shown[said["number"]]
    same_end = said["end"] == wanted["end"]
    same_pair = np.all([said[name] == wanted[name] for name in _PAIR], axis=0)
    return _fittest(said, same_end.astype(np.intp) + same_pair)


def last_heard(said: Talk) -> Talk:
    """For each code point and run, its latest edge: one into it, if there is any."""
    return _fittest(said, said["end"])


def _fittest(said: Talk, fit: Indexes) -> Talk:
    """For each code point and run, in order, the row that fits best, and of those the latest."""
    said = said[np.lexsort((said["time"], fit, said["part"], said["number"]))]
    stops = np.append(_starts(said["number"], said["part"])[1:], len(said))
    best: Talk = said[stops[: len(said)] - 1]
    return best


def _pairs(part: Part, wanted: npt.NDArray[np.bool_]) -> Talk:
    """The pairs of points of a run's edges, contexts aside, if a wanted point is among them."""
    source, sink = (part.column(f"{end}_point") for end in ENDS)
    rows = np.flatnonzero(wanted[source] | wanted[sink])
    keys = source[rows].astype(np.uint64) << _HALF_WORD | sink[rows]
    order = np.argsort(keys)
    rows = rows[order]
    starts = _starts(keys[order])
    pairs = np.zeros(len(starts), dtype=TALK)
    if not len(starts):
        return pairs
    latest = rows[_last_of_each(part.column("sink_time")[rows], starts)]
    for end in ENDS:
        for what in ("point", "thread"):
            pairs[f"{end}_{what}"] = part.column(f"{end}_{what}")[latest]
    pairs["time"] = part.column("sink_time")[latest]
    pairs["count"] = np.add.reduceat(part.column("count")[rows].astype(np.int64), starts)
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
