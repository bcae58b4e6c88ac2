# SPDX-License-Identifier: Apache-2.0
"""Conflicts of two or three threads that close a cycle: no serial order of the threads has all.

Thread 1 touched one cell before thread 2 did, and thread 2 touched another one before thread 1 did.
On one cell that is Falcon's triple; on two it is what bugs of several variables look like, and the
pairs alone are in passing runs as well. With a third thread, the way back leads
over a third cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise
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
# All pairs have thousands of cycles in a large run. With the 100 most suspicious ones of 40 % of
# the failing runs the answers on the zoo are the same (docs/adr/0011).
MOST_PAIRS = 100
MOST_OCCURRENCES = 1000
# Pairs that fewer of the failing runs have cannot explain them.
LEAST_SHARE = 0.4

# A ring of three threads is looked for among so many conflicts that follow each other.
MOST_FOLLOWING = 5000

EITHER, STRAIGHT, CROSSED = range(3)

Key = tuple[int, ...]


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
    found: dict[_Kind, dict[int, Occurrence]] = {}
    for run, evidence in enumerate(comparison.failing):
        for kind, occurrence in _in_run(evidence, counting, tried):
            # Cycles come in the order of their completion: the first one of a run stays.
            found.setdefault(kind, {}).setdefault(run, occurrence)
    passing: dict[_Kind, int] = dict.fromkeys(found, 0)
    for evidence in comparison.passing:
        for kind in {kind for kind, _ in _in_run(evidence, counting, tried)} & passing.keys():
            passing[kind] += 1
    best: dict[Key, Hypothesis] = {}
    # The least specific count comes first; only one that separates strictly better replaces it.
    for kind, runs in sorted(found.items(), key=lambda item: item[0][1:]):
        one = Hypothesis(SHAPE, 1.0, runs, passing[kind], failing)
        if kind.key not in best or one.jaccard > best[kind.key].jaccard:
            best[kind.key] = one
    return best


class _Kind(NamedTuple):
    key: Key
    of_one_round: bool
    turn: int  # of the accesses between the first and the last: in either order, or in this one


def _in_run(
    evidence: Evidence, counting: Counting, tried: Keys
) -> Iterator[tuple[_Kind, Occurrence]]:
    """The cycles of one run, the one that was complete first before others of the same points."""
    # Patterns keep their latest occurrence, which in a loop is one after the failure
    # (docs/adr/0018).
    if len(evidence.pairs):
        evidence = replace(evidence, patterns=evidence.pairs)
    rows = _with_detours(evidence.patterns[_tried_rows(evidence, counting, tried)], counting)
    points = [counting.points(rows, f"{end}_point") for end in _ENDS]
    rounds = _Rounds(evidence, counting)
    found = [*_closing(rows, points), *_rings(rows, points)]
    begins, ends = (rows[f"{end}_time"].tolist() for end in _ENDS)
    accesses = [_accesses(rows, end, points[which]) for which, end in enumerate(_ENDS)]
    of_cell = rows["cell"].tolist()

    def completed(cycle: tuple[int, ...]) -> tuple[int, int]:
        # Of those that end together, the one whose threads went on soonest.
        waits = (abs(begins[then] - ends[one]) for one, then in pairwise(cycle))
        return max(ends[row] for row in cycle), sum(waits)

    for cycle in sorted(found, key=completed):
        occurrence = tuple(each[row] for row in cycle for each in accesses)
        cells = [of_cell[row] for row in cycle]
        named = _rotated(occurrence)
        key = tuple(access.point for access in named)
        for of_one_round in (False, True)[: 1 if rounds.differ(cells, occurrence) else 2]:
            for turn in (EITHER, _turn(occurrence)):
                yield _Kind(key, of_one_round, turn), named


def _accesses(rows: Patterns, end: str, points: npt.NDArray[np.uint32]) -> list[Access]:
    """One end of every conflict. Made once: a conflict may be in thousands of cycles."""
    columns = (rows[f"{end}_thread"], rows[f"{end}_time"], points, rows[f"{end}_point"])
    return [Access(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def _rotated(cycle: Occurrence) -> Occurrence:
    """The cycle from the conflict on that has the lowest points.

    Which access comes first of all differs from run to run: counted from there, one cycle would be
    two, each with a part of the runs.
    """
    points = [access.point for access in cycle]
    first = min(range(0, len(cycle), 2), key=lambda at: points[at:] + points[:at])
    return cycle[first:] + cycle[:first]


def _turn(cycle: Occurrence) -> int:
    return STRAIGHT if cycle[1].time <= cycle[-2].time else CROSSED


class _Rounds:
    """All conflicts: whether the threads of a cycle were in the same round of their loops."""

    def __init__(self, evidence: Evidence, counting: Counting) -> None:
        pairs = evidence.patterns[_pair_rows(evidence, counting)]
        points = [counting.points(pairs, f"{end}_point").tolist() for end in _ENDS]
        threads = [pairs[f"{end}_thread"].tolist() for end in _ENDS]
        times = zip(*(pairs[f"{end}_time"].tolist() for end in _ENDS), strict=True)
        keys = zip(pairs["cell"].tolist(), *threads, *points, strict=True)
        self._times: dict[tuple[int, ...], list[tuple[int, int]]] = {}
        for key, time in zip(keys, times, strict=True):
            self._times.setdefault(key, []).append(time)

    def differ(self, cells: Sequence[int], cycle: Occurrence) -> bool:
        """Whether the last access, or the second one, was there once more in the time between."""
        first, other, *_, back, last = cycle
        # In twovar 24 of 25 passing runs have both conflicts, one round apart (docs/adr/0018).
        ended = self._between(cells[-1], last, back)
        begun = self._between(cells[0], first, other)
        return any(first.time < begin and end <= back.time for begin, end in ended) or any(
            other.time < end <= back.time for _, end in begun
        )

    def _between(self, cell: int, one: Access, other: Access) -> list[tuple[int, int]]:
        return self._times.get((cell, one.thread, other.thread, one.point, other.point), [])


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


def _closing(rows: Patterns, points: Sequence[npt.NDArray[np.uint32]]) -> Iterator[tuple[int, ...]]:
    """Indexes of the conflicts that there is a way back for, and of those that are the way.

    The thread whose access comes first of all is the one that the cycle begins with, so that no
    cycle is found twice.
    """
    closes = _equal(rows, "first_thread", "other_thread")
    closes &= _equal(rows, "other_thread", "first_thread")
    closes &= ~_equal(rows, "cell", "cell") & (points[0][:, None] != points[1][None, :])
    closes &= rows["first_time"][:, None] < rows["first_time"][None, :]
    closes &= rows["first_time"][:, None] < rows["other_time"][None, :]
    yield from _nearest(closes, rows, points)


def _nearest(
    fits: npt.NDArray[np.bool_], rows: Patterns, points: Sequence[npt.NDArray[np.uint32]]
) -> Iterator[tuple[int, int]]:
    """Of the conflicts of one kind that fit another one, the one that is complete first.

    Later ones are of later rounds; all with all would be the square of a loop's rounds.
    """
    if not len(rows):
        return
    kinds = (rows["cell"], rows["first_thread"], rows["other_thread"], points[1], points[0])
    # Signed, because the times are unsigned and would wrap around when negated.
    in_order = np.lexsort((-rows["first_time"].astype(np.int64), rows["other_time"], *kinds))
    differs = np.any([kind[in_order][1:] != kind[in_order][:-1] for kind in kinds], axis=0)
    for group in np.split(in_order, np.flatnonzero(differs) + 1):
        some = fits[:, group]
        ones = np.flatnonzero(some.any(axis=1))
        yield from zip(ones.tolist(), group[some[ones].argmax(axis=1)].tolist(), strict=True)


def _rings(rows: Patterns, points: Sequence[npt.NDArray[np.uint32]]) -> Iterator[tuple[int, ...]]:
    """Indexes of three conflicts, each of which begins where the one before it ended."""
    follows = _equal(rows, "other_thread", "first_thread") & ~_equal(rows, "cell", "cell")
    follows &= ~_equal(rows, "first_thread", "other_thread")
    follows &= rows["other_time"][:, None] < rows["first_time"][None, :]
    after: dict[int, list[int]] = {}
    for one, two in islice(_nearest(follows, rows, points), MOST_FOLLOWING):
        after.setdefault(one, []).append(two)
    cells, firsts, others = (
        rows[name].tolist() for name in ("cell", "first_thread", "other_thread")
    )
    found = (
        (one, two, back)
        for one, twos in after.items()
        for two in twos
        for back in after.get(two, ())
    )
    for one, two, back in found:
        closes = others[back] == firsts[one] and cells[back] != cells[one]
        if closes and points[0][one] != points[1][back]:
            yield one, two, back


def _equal(rows: Patterns, name: str, other: str) -> npt.NDArray[np.bool_]:
    equal: npt.NDArray[np.bool_] = rows[name][:, None] == rows[other][None, :]
    return equal
