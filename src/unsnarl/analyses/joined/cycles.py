# SPDX-License-Identifier: Apache-2.0
"""Two conflicts of two threads that close a cycle: no serial order of the threads has both.

Thread 1 touched one cell before thread 2 did, and thread 2 touched another one before thread 1 did.
On one cell that is Falcon's triple; on two it is what bugs of several variables look like, and the
pairs alone are in passing runs as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

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
    """The cycles among the most suspicious pairs; the key has the points of both.

    In a loop two conflicts may seem to close a cycle although they are of different rounds. Cycles
    are counted with those and without: what separates the runs better is kept.
    """
    failing = len(comparison.failing)
    frequent = [pair for pair in pairs if len(pair.occurrences) >= LEAST_SHARE * failing]
    tried = _packed(np.array([pair.points for pair in frequent[:MOST_PAIRS]]).reshape(-1, 2).T)
    found: dict[_Kind, dict[int, Occurrence]] = {}
    for run, evidence in enumerate(comparison.failing):
        for kind, occurrence in _in_run(evidence, counting, tried):
            found.setdefault(kind, {}).setdefault(run, occurrence)
    passing: dict[_Kind, int] = dict.fromkeys(found, 0)
    for evidence in comparison.passing:
        for kind in {kind for kind, _ in _in_run(evidence, counting, tried)} & passing.keys():
            passing[kind] += 1
    best: dict[Key, Hypothesis] = {}
    for kind, runs in sorted(found.items(), key=lambda item: item[0].of_one_round):
        one = Hypothesis(SHAPE, 1.0, runs, passing[kind], failing)
        if kind.key not in best or one.jaccard > best[kind.key].jaccard:
            best[kind.key] = one
    return best


class _Kind(NamedTuple):
    key: Key
    of_one_round: bool


def _in_run(
    evidence: Evidence, counting: Counting, tried: Keys
) -> Iterator[tuple[_Kind, Occurrence]]:
    """The cycles of one run, the one that was complete first before others of the same points."""
    rows = _with_detours(evidence.patterns[_tried_rows(evidence, counting, tried)], counting)
    points = [counting.points(rows, f"{end}_point") for end in _ENDS]
    backwards = _Backwards(evidence, counting)
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
        key = (first, other, back, last)
        yield _Kind(key, of_one_round=False), occurrence
        if not backwards.between(rows[two[at]], occurrence):
            yield _Kind(key, of_one_round=True), occurrence


class _Backwards:
    """Conflicts the other way round: whether a thread had come to the end of its round already."""

    def __init__(self, evidence: Evidence, counting: Counting) -> None:
        pairs = evidence.patterns[_pair_rows(evidence, counting)]
        points = [counting.points(pairs, f"{end}_point").tolist() for end in _ENDS]
        threads = [pairs[f"{end}_thread"].tolist() for end in _ENDS]
        times = zip(*(pairs[f"{end}_time"].tolist() for end in _ENDS), strict=True)
        keys = zip(pairs["cell"].tolist(), *threads, *points, strict=True)
        self._times = dict(zip(keys, times, strict=True))

    def between(self, row: np.void, cycle: Occurrence) -> bool:
        """Whether the last access was there before its conflict, in the time of the cycle."""
        first, *_, back, last = cycle
        key = (int(row["cell"]), last.thread, back.thread, last.point, back.point)
        begin, end = self._times.get(key, (0, 0))
        return bool(first.time < begin and end <= back.time)


_ENDS = ("first", "other")


def _tried_rows(evidence: Evidence, counting: Counting, tried: Keys) -> Indexes:
    """The occurrences of the tried pairs; if there are too many, of the most suspicious ones."""
    pairs = _pair_rows(evidence, counting)
    columns = (counting.points(evidence.patterns, f"{end}_point")[pairs] for end in _ENDS)
    in_order = np.argsort(tried)
    at, which = find_keys(tried[in_order], _packed(columns))
    best: Indexes = pairs[at[np.argsort(in_order[which], kind="stable")][:MOST_OCCURRENCES]]
    return best


def _with_detours(rows: Patterns, counting: Counting) -> Patterns:
    """Conflicts, and those that have a third thread's access to the cell in between.

    A window pairs neighbours only: where several threads write in turn, the one that matters may
    not be the next.
    """
    points = [counting.points(rows, f"{end}_point") for end in _ENDS]
    joins = _equal(rows, "cell", "cell") & _equal(rows, "other_thread", "first_thread")
    joins &= ~_equal(rows, "first_thread", "other_thread")
    joins &= points[1][:, None] == points[0][None, :]
    joins &= points[1][:, None] == points[1][None, :]
    joins &= rows["other_time"][:, None] <= rows["first_time"][None, :]
    here, there = (each[:MOST_OCCURRENCES] for each in np.nonzero(joins))
    detours = rows[here].copy()
    for field in ("other_thread", "other_time", "other_point"):
        detours[field] = rows[field][there]
    return np.concatenate([rows, detours])


def _pair_rows(evidence: Evidence, counting: Counting) -> Indexes:
    rows = counting.rows(evidence)
    pairs: Indexes = rows[(evidence.patterns["kind"] % FINE)[rows] < PatternKind.RWR]
    return pairs


def _packed(ends: Iterable[npt.NDArray[np.integer]]) -> Keys:
    first, other = (end.astype(np.uint64) for end in ends)
    keys: Keys = first << np.uint64(32) | other
    return keys


def _closing(rows: Patterns, points: Sequence[npt.NDArray[np.uint32]]) -> tuple[Indexes, Indexes]:
    """Indexes of the conflicts that there is a way back for, and of those that are the way.

    The thread whose access comes first of all is the one that the cycle is told from, so that no
    cycle is found twice.
    """
    closes = _equal(rows, "first_thread", "other_thread")
    closes &= _equal(rows, "other_thread", "first_thread")
    closes &= ~_equal(rows, "cell", "cell") & (points[0][:, None] != points[1][None, :])
    closes &= rows["first_time"][:, None] < rows["first_time"][None, :]
    closes &= rows["first_time"][:, None] < rows["other_time"][None, :]
    one, two = np.nonzero(closes)
    return one, two


def _equal(rows: Patterns, name: str, other: str) -> npt.NDArray[np.bool_]:
    equal: npt.NDArray[np.bool_] = rows[name][:, None] == rows[other][None, :]
    return equal
