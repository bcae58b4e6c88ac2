# SPDX-License-Identifier: Apache-2.0
"""Conflicts of two or three threads that close a cycle: no serial order of the threads has all.

Thread 1 touched one cell before thread 2 did, and thread 2 touched another one before thread 1 did.
On one cell that is Falcon's triple; on two it is what bugs of several variables look like, and the
pairs alone are in passing runs as well. With a third thread, the way back leads
over a third cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from unsnarl.analyses.falcon.table import Counting, Indexes
from unsnarl.analyses.joined.cycle_kinds import (
    KINDS,
    Column,
    Conflicts,
    CyclesOfRun,
    KindNumbers,
    Rounds,
)
from unsnarl.analyses.joined.hypotheses import INITIAL_WEIGHT, Hypothesis, Occurrence
from unsnarl.analyses.recon.keys import Keys
from unsnarl.analyses.recon.timelines import find_keys
from unsnarl.model.evidence import Comparison, Evidence
from unsnarl.model.pattern import FINE, PatternKind, Patterns

SHAPE = "cycle"
Key = tuple[int, ...]  # its points
# So many pairs are tried with each other, and so many occurrences of them in a run.
# All pairs have thousands of cycles in a large run. With the 100 most suspicious ones of 40 % of
# the failing runs the answers on the zoo are the same (docs/adr/0011).
MOST_PAIRS = 100
MOST_OCCURRENCES = 1000
# Pairs that fewer of the failing runs have cannot explain them.
LEAST_SHARE = 0.4
# Nor can such cycles. One that completes a pair is in 75 % of that pair's runs (ranking.py).
LEAST_OF_CYCLES = 0.75 * LEAST_SHARE

# A ring of three threads is looked for among so many conflicts that follow each other.
MOST_FOLLOWING = 5000


def cycles(
    comparison: Comparison, counting: Counting, pairs: Sequence[Hypothesis]
) -> dict[Key, Hypothesis]:
    """The cycles among the most suspicious pairs; the key has the points of both.

    In a loop two conflicts may seem to close a cycle although they are of different rounds. Cycles
    are counted with those and without, and by the order of the second thread's two accesses: what
    separates the runs better is kept.
    """
    failing = len(comparison.failing)
    frequent = [pair for pair in pairs if len(pair.occurrences) >= LEAST_SHARE * failing]
    tried = _packed(np.array([pair.points for pair in frequent[:MOST_PAIRS]]).reshape(-1, 2).T)
    numbers = KindNumbers(tried)
    every = [_in_run(evidence, counting, tried, numbers) for evidence in comparison.failing]
    kinds, counts = _counted(every)
    some = counts >= LEAST_OF_CYCLES * failing
    kinds, counts = kinds[some], counts[some]
    passing = np.zeros(len(kinds), dtype=np.int64)
    for evidence in comparison.passing:
        own = _kinds(_in_run(evidence, counting, tried, numbers))
        passing += np.isin(kinds, own)
    best = _best(kinds, counts / (failing + passing))
    found: dict[int, dict[int, Occurrence]] = {kind: {} for kind in kinds[best].tolist()}
    for run, parts in enumerate(every):
        for part in parts:
            for kind, occurrence in part.occurrences(kinds[best]).items():
                found[kind][run] = occurrence
    made = (
        Hypothesis(SHAPE, _weight(runs, comparison), runs, many, failing)
        for runs, many in zip(found.values(), passing[best].tolist(), strict=True)
    )
    return {one.points: one for one in made}


def _weight(runs: dict[int, Occurrence], comparison: Comparison) -> float:
    points = [access.point for access in next(iter(runs.values()), ())]
    return INITIAL_WEIGHT if comparison.points.begins_with_initial(points) else 1.0


def _kinds(parts: Sequence[CyclesOfRun]) -> Column:
    return np.concatenate([part.kinds for part in parts])


def _counted(runs: Sequence[Sequence[CyclesOfRun]]) -> tuple[Column, Column]:
    """The kinds, and how many of the runs have each."""
    return np.unique(np.concatenate([_kinds(parts) for parts in runs]), return_counts=True)


def _best(kinds: Column, jaccard: npt.NDArray[np.float64]) -> Indexes:
    """The index of the best kind of each key.

    The least specific one comes first; only one that separates strictly better replaces it.
    """
    in_order = np.lexsort((kinds % KINDS, -jaccard, kinds // KINDS))
    _, firsts = np.unique(kinds[in_order] // KINDS, return_index=True)
    best: Indexes = in_order[firsts]
    return best


def _in_run(
    evidence: Evidence, counting: Counting, tried: Keys, numbers: KindNumbers
) -> list[CyclesOfRun]:
    """The cycles of one run: those of two threads, and of three."""
    # Patterns keep their latest occurrence, which in a loop is one after the failure
    # (docs/adr/0018).
    if len(evidence.pairs):
        evidence = replace(evidence, patterns=evidence.pairs)
    rows = _with_detours(evidence.patterns[_tried_rows(evidence, counting, tried)], counting)
    conflicts = Conflicts.of(rows, counting)
    rounds = Rounds(Conflicts.of(evidence.patterns[_pair_rows(evidence, counting)], counting))
    points = [conflicts.first_point, conflicts.other_point]
    return [
        numbers.numbered(conflicts, cycles, rounds)
        for cycles in (_closing(rows, points), _rings(rows, points))
    ]


_ENDS = ("first", "other")
_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


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


def _closing(rows: Patterns, points: Sequence[npt.NDArray[np.uint32]]) -> Indexes:
    """Indexes of the conflicts that there is a way back for, and of those that are the way.

    The thread whose access comes first of all is the one that the cycle begins with, so that no
    cycle is found twice.
    """
    closes = _equal(rows, "first_thread", "other_thread")
    closes &= _equal(rows, "other_thread", "first_thread")
    closes &= ~_equal(rows, "cell", "cell") & (points[0][:, None] != points[1][None, :])
    closes &= rows["first_time"][:, None] < rows["first_time"][None, :]
    closes &= rows["first_time"][:, None] < rows["other_time"][None, :]
    return _nearest(closes, rows, points)


def _nearest(
    fits: npt.NDArray[np.bool_], rows: Patterns, points: Sequence[npt.NDArray[np.uint32]]
) -> Indexes:
    """Of the conflicts of one kind that fit another one, the one that is complete first.

    Later ones are of later rounds; all with all would be the square of a loop's rounds.
    """
    if not len(rows):
        return np.empty((0, 2), dtype=np.intp)
    kinds = (rows["cell"], rows["first_thread"], rows["other_thread"], points[1], points[0])
    # Signed, because the times are unsigned and would wrap around when negated.
    in_order = np.lexsort((-rows["first_time"].astype(np.int64), rows["other_time"], *kinds))
    differs = np.any([kind[in_order][1:] != kind[in_order][:-1] for kind in kinds], axis=0)
    found = []
    for group in np.split(in_order, np.flatnonzero(differs) + 1):
        some = fits[:, group]
        ones = np.flatnonzero(some.any(axis=1))
        found.append(np.column_stack([ones, group[some[ones].argmax(axis=1)]]))
    return np.concatenate(found)


def _rings(rows: Patterns, points: Sequence[npt.NDArray[np.uint32]]) -> Indexes:
    """Indexes of three conflicts, each of which begins where the one before it ended."""
    follows = _equal(rows, "other_thread", "first_thread") & ~_equal(rows, "cell", "cell")
    follows &= ~_equal(rows, "first_thread", "other_thread")
    follows &= rows["other_time"][:, None] < rows["first_time"][None, :]
    steps = _nearest(follows, rows, points)[:MOST_FOLLOWING]
    # Of rings that are complete together the first stays: in the order of their first conflicts.
    _, earliest, which = np.unique(steps[:, 0], return_index=True, return_inverse=True)
    after = steps[np.argsort(steps[:, 0], kind="stable")]
    steps = steps[np.argsort(earliest[which], kind="stable")]
    low, high = (np.searchsorted(after[:, 0], steps[:, 1], side=side) for side in _SIDES)
    many = high - low
    begun = np.repeat(np.arange(len(steps)), many)
    then = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many) + low[begun]
    rings = np.column_stack([steps[begun], after[then, 1]])
    one, back = rings[:, 0], rings[:, 2]
    closes = rows["other_thread"][back] == rows["first_thread"][one]
    closes &= rows["cell"][back] != rows["cell"][one]
    found: Indexes = rings[closes & (points[0][one] != points[1][back])]
    return found


def _equal(rows: Patterns, name: str, other: str) -> npt.NDArray[np.bool_]:
    equal: npt.NDArray[np.bool_] = rows[name][:, None] == rows[other][None, :]
    return equal
