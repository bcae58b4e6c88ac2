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

from unsnarl.analyses.falcon.table import Table
from unsnarl.analyses.joined.hypotheses import Access, Hypothesis, Occurrence
from unsnarl.analyses.recon.keys import Keys
from unsnarl.analyses.recon.timelines import find_keys
from unsnarl.model.evidence import Comparison, Evidence
from unsnarl.model.pattern import PatternKind, Patterns, kinds_of

SHAPE = "cycle"
# So many pairs are tried with each other, and so many occurrences of them in a run.
MOST_PAIRS = 100
MOST_OCCURRENCES = 600
# Pairs that fewer of the failing runs have cannot explain them.
LEAST_SHARE = 0.4

Key = tuple[int, int, int, int]


def cycles(
    comparison: Comparison, counted: Table, pairs: Sequence[Hypothesis]
) -> dict[Key, Hypothesis]:
    """The cycles among the most suspicious pairs; the key has the points of both."""
    failing = counted.failing
    frequent = [pair for pair in pairs if len(pair.occurrences) >= LEAST_SHARE * failing]
    tried = _packed(np.array([pair.points for pair in frequent[:MOST_PAIRS]]).reshape(-1, 2).T)
    found: dict[Key, dict[int, Occurrence]] = {}
    for run, evidence in enumerate(comparison.failing):
        for key, occurrence in _in_run(evidence, tried):
            found.setdefault(key, {}).setdefault(run, occurrence)
    passing: dict[Key, int] = dict.fromkeys(found, 0)
    for evidence in comparison.passing:
        for key in {key for key, _ in _in_run(evidence, tried)} & passing.keys():
            passing[key] += 1
    return {key: Hypothesis(SHAPE, 1.0, runs, passing[key], failing) for key, runs in found.items()}


def _in_run(evidence: Evidence, tried: Keys) -> Iterator[tuple[Key, Occurrence]]:
    """The cycles of one run, the one that was complete first before others of the same points."""
    rows = _tried_rows(evidence.patterns, tried)
    one, two = _closing(rows)
    ends = np.maximum(rows["other_time"][one], rows["other_time"][two])
    for at in np.argsort(ends, kind="stable").tolist():
        there, back = rows[one[at]], rows[two[at]]
        key = tuple(int(row[f"{which}_point"]) for row in (there, back) for which in _ENDS)
        yield (
            (key[0], key[1], key[2], key[3]),
            (
                _access(there, "first"),
                _access(there, "other"),
                _access(back, "first"),
                _access(back, "other"),
            ),
        )


_ENDS = ("first", "other")


def _tried_rows(patterns: Patterns, tried: Keys) -> Patterns:
    """The occurrences of the tried pairs; if there are too many, of the most suspicious ones."""
    pairs = np.flatnonzero(kinds_of(patterns) < PatternKind.RWR)
    keys = _packed(patterns[f"{end}_point"][pairs] for end in _ENDS)
    in_order = np.argsort(tried)
    at, which = find_keys(tried[in_order], keys)
    best = at[np.argsort(in_order[which], kind="stable")][:MOST_OCCURRENCES]
    chosen: Patterns = patterns[pairs[best]]
    return chosen


def _packed(ends: Iterable[npt.NDArray[np.integer]]) -> Keys:
    first, other = (end.astype(np.uint64) for end in ends)
    keys: Keys = first << np.uint64(32) | other
    return keys


def _closing(rows: Patterns) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Indexes of the conflicts that there is a way back for, and of those that are the way.

    The thread whose access comes first of all is the one that the cycle is told from, so that no
    cycle is found twice.
    """

    def against(name: str, other: str) -> npt.NDArray[np.bool_]:
        equal: npt.NDArray[np.bool_] = rows[name][:, None] == rows[other][None, :]
        return equal

    closes = against("first_thread", "other_thread") & against("other_thread", "first_thread")
    closes &= ~against("cell", "cell") & ~against("first_point", "other_point")
    closes &= rows["first_time"][:, None] < rows["first_time"][None, :]
    closes &= rows["first_time"][:, None] < rows["other_time"][None, :]
    one, two = np.nonzero(closes)
    return one, two


def _access(row: np.void, which: str) -> Access:
    return Access(
        int(row[f"{which}_thread"]),
        int(row[f"{which}_time"]),
        int(row[f"{which}_point"]),
        which,
        int(row["row"]),
    )
