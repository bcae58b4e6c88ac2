# SPDX-License-Identifier: Apache-2.0
"""Two conflicts of two threads that close a cycle: no serial order of the threads has both.

Thread 1 touched one cell before thread 2 did, and thread 2 touched another one before thread 1 did.
On one cell that is Falcon's triple; on two it is what bugs of several variables look like, and the
pairs alone are in passing runs as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from unsnarl.analyses.falcon.table import Counting, Indexes
from unsnarl.analyses.joined.hypotheses import Access, Hypothesis, Occurrence
from unsnarl.analyses.recon.keys import Keys
from unsnarl.analyses.recon.timelines import find_keys
from unsnarl.model.evidence import Comparison, Evidence
from unsnarl.model.pattern import FINE, PatternKind, Patterns

SHAPE = "cycle"
# So many pairs are tried with each other, and so many occurrences of them in a run.
MOST_PAIRS = 100
MOST_OCCURRENCES = 600
# Pairs that fewer of the failing runs have cannot explain them.
LEAST_SHARE = 0.4

Key = tuple[int, int, int, int]


def cycles(
    comparison: Comparison, counting: Counting, pairs: Sequence[Hypothesis]
) -> dict[Key, Hypothesis]:
    """The cycles among the most suspicious pairs; the key has the points of both."""
    failing = len(comparison.failing)
    frequent = [pair for pair in pairs if len(pair.occurrences) >= LEAST_SHARE * failing]
    tried = _packed(np.array([pair.points for pair in frequent[:MOST_PAIRS]]).reshape(-1, 2).T)
    found: dict[Key, dict[int, Occurrence]] = {}
    for run, evidence in enumerate(comparison.failing):
        for key, occurrence in _in_run(evidence, counting, tried):
            found.setdefault(key, {}).setdefault(run, occurrence)
    passing: dict[Key, int] = dict.fromkeys(found, 0)
    for evidence in comparison.passing:
        for key in {key for key, _ in _in_run(evidence, counting, tried)} & passing.keys():
            passing[key] += 1
    return {key: Hypothesis(SHAPE, 1.0, runs, passing[key], failing) for key, runs in found.items()}


def _in_run(
    evidence: Evidence, counting: Counting, tried: Keys
) -> Iterator[tuple[Key, Occurrence]]:
    """The cycles of one run, the one that was complete first before others of the same points."""
    rows = evidence.patterns[_tried_rows(evidence, counting, tried)]
    points = [counting.points(rows, f"{end}_point") for end in _ENDS]
    one, two = _closing(rows, points)
    ends = np.maximum(rows["other_time"][one], rows["other_time"][two])
    for at in np.argsort(ends, kind="stable").tolist():
        occurrence = tuple(
            Access(
                int(rows[f"{end}_thread"][row]),
                int(rows[f"{end}_time"][row]),
                int(points[which][row]),
                int(rows[f"{end}_point"][row]),
            )
            for row in (one[at], two[at])
            for which, end in enumerate(_ENDS)
        )
        first, other, back, last = (access.point for access in occurrence)
        yield (first, other, back, last), occurrence


_ENDS = ("first", "other")


def _tried_rows(evidence: Evidence, counting: Counting, tried: Keys) -> Indexes:
    """The occurrences of the tried pairs; if there are too many, of the most suspicious ones."""
    rows = counting.rows(evidence)
    pairs = rows[(evidence.patterns["kind"] % FINE)[rows] < PatternKind.RWR]
    columns = (counting.points(evidence.patterns, f"{end}_point")[pairs] for end in _ENDS)
    in_order = np.argsort(tried)
    at, which = find_keys(tried[in_order], _packed(columns))
    best: Indexes = pairs[at[np.argsort(in_order[which], kind="stable")][:MOST_OCCURRENCES]]
    return best


def _packed(ends: Iterable[npt.NDArray[np.integer]]) -> Keys:
    first, other = (end.astype(np.uint64) for end in ends)
    keys: Keys = first << np.uint64(32) | other
    return keys


def _closing(rows: Patterns, points: Sequence[npt.NDArray[np.uint32]]) -> tuple[Indexes, Indexes]:
    """Indexes of the conflicts that there is a way back for, and of those that are the way.

    The thread whose access comes first of all is the one that the cycle is told from, so that no
    cycle is found twice.
    """

    def against(name: str, other: str) -> npt.NDArray[np.bool_]:
        equal: npt.NDArray[np.bool_] = rows[name][:, None] == rows[other][None, :]
        return equal

    closes = against("first_thread", "other_thread") & against("other_thread", "first_thread")
    closes &= ~against("cell", "cell") & (points[0][:, None] != points[1][None, :])
    closes &= rows["first_time"][:, None] < rows["first_time"][None, :]
    closes &= rows["first_time"][:, None] < rows["other_time"][None, :]
    one, two = np.nonzero(closes)
    return one, two
