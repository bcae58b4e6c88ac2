# SPDX-License-Identifier: Apache-2.0
"""The cycles of a run by their kinds: in columns, because a loop has tens of thousands of them."""

from __future__ import annotations

from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unsnarl.analyses.falcon.table import Counting, Indexes
from unsnarl.analyses.joined.hypotheses import Access, Occurrence
from unsnarl.analyses.recon.keys import Keys
from unsnarl.model.pattern import Patterns

# Cycles are counted by their points, by whether they are of one round of a loop, and by the turn of
# the accesses between the first and the last: in either order, or in this one.
EITHER, STRAIGHT, CROSSED = range(3)
TURNS = 3
KINDS = 2 * TURNS  # of one key

Column = npt.NDArray[np.int64]
_HALF_WORD = np.int64(32)


class Conflicts(NamedTuple):
    """Conflicts in columns; the points are those of lines."""

    rows: Patterns
    first_point: npt.NDArray[np.uint32]
    other_point: npt.NDArray[np.uint32]
    first_time: Column
    other_time: Column

    @classmethod
    def of(cls, rows: Patterns, counting: Counting) -> Conflicts:
        """Of rows of patterns."""
        first, other = (counting.points(rows, f"{end}_point") for end in ("first", "other"))
        times = (rows[f"{end}_time"].astype(np.int64) for end in ("first", "other"))
        return cls(rows, first, other, *times)

    def keys(self, *, reverse: bool = False) -> list[npt.NDArray[Any]]:
        """Columns that say which conflict it is; in reverse: the one in the other direction."""
        threads = [self.rows["first_thread"], self.rows["other_thread"]]
        points = [self.first_point, self.other_point]
        if reverse:
            threads.reverse()
            points.reverse()
        return [self.rows["cell"], *threads, *points]

    def accesses(self) -> list[Occurrence]:
        """The two accesses of each: made once, because a conflict may be in thousands of cycles."""
        ends = (("first", self.first_point), ("other", self.other_point))
        return list(zip(*(self._accesses(end, points) for end, points in ends), strict=True))

    def _accesses(self, end: str, points: npt.NDArray[np.uint32]) -> list[Access]:
        rows = self.rows
        columns = (rows[f"{end}_thread"], rows[f"{end}_time"], points, rows[f"{end}_point"])
        return [Access(*one) for one in zip(*(each.tolist() for each in columns), strict=True)]


class Rounds:
    """All conflicts of a run: whether the threads of a cycle were in the same round of a loop."""

    def __init__(self, every: Conflicts) -> None:
        self._all = every

    def differ(self, conflicts: Conflicts, cycles: Indexes) -> npt.NDArray[np.bool_]:
        """Whether the last access, or the second one, was there once more in the time between."""
        # In twovar 24 of 25 passing runs have both conflicts, one round apart (docs/adr/0018).
        if not len(cycles) or not len(self._all.rows):
            return np.zeros(len(cycles), dtype=bool)
        first, last = cycles[:, 0], cycles[:, -1]
        kinds, begun, ended = self._numbered(conflicts, first, last)
        first_time, back_time = conflicts.first_time[first], conflicts.first_time[last]
        other_time = conflicts.other_time[first]
        times = (self._all.first_time, self._all.other_time, first_time, other_time, back_time)
        begins, ends, since, other, until = _ranks(times)
        begins, ends = (kinds << _HALF_WORD | times for times in (begins, ends))
        differs = _any_within(ends, begun, other, until)
        differs |= _any_inside(begins, ends, ended, since, until)
        return differs

    def _numbered(
        self, conflicts: Conflicts, first: Indexes, last: Indexes
    ) -> tuple[Column, Column, Column]:
        """Which are alike: all conflicts, those that begin cycles, the reverse of the last ones."""
        columns = zip(self._all.keys(), conflicts.keys(), conflicts.keys(reverse=True), strict=True)
        table = np.column_stack(
            [np.concatenate([every, begun[first], back[last]]) for every, begun, back in columns]
        )
        numbers = _numbers(table)
        kinds, begun, ended = np.split(numbers, np.cumsum([len(self._all.rows), len(first)]))
        return kinds, begun, ended


def _numbers(table: npt.NDArray[Any]) -> Column:
    """Equal rows get equal numbers."""
    order = np.lexsort(table.T)
    ordered = table[order]
    differs = np.any(ordered[1:] != ordered[:-1], axis=1)
    numbers = np.empty(len(table), dtype=np.int64)
    numbers[order] = np.concatenate([[0], np.cumsum(differs)])
    return numbers


def _ranks(times: tuple[Column, ...]) -> list[Column]:
    """Times by their order: small enough to share a word with a number."""
    _, ranks = np.unique(np.concatenate(times), return_inverse=True)
    return np.split(ranks.astype(np.int64), np.cumsum([len(one) for one in times])[:-1])


def _any_within(keys: Column, kind: Column, after: Column, until: Column) -> npt.NDArray[np.bool_]:
    """Whether a key of that kind is after one time and not after the other."""
    keys = np.sort(keys)
    low, high = (
        np.searchsorted(keys, kind << _HALF_WORD | time, side="right") for time in (after, until)
    )
    within: npt.NDArray[np.bool_] = low < high
    return within


def _any_inside(
    begins: Column, ends: Column, kind: Column, after: Column, until: Column
) -> npt.NDArray[np.bool_]:
    """Whether a conflict of that kind began after one time and ended not after the other."""
    order = np.argsort(begins)
    keys = begins[order]
    # From the end on: keys of a lower kind are lower, so the minimum begins anew with each.
    soonest = np.minimum.accumulate(ends[order][::-1])[::-1]
    at = np.searchsorted(keys, kind << _HALF_WORD | after, side="right")
    found = soonest[np.minimum(at, len(keys) - 1)]
    inside: npt.NDArray[np.bool_] = (at < len(keys)) & (found >> _HALF_WORD == kind)
    return inside & (found <= kind << _HALF_WORD | until)


class CyclesOfRun(NamedTuple):
    """The kinds of cycles that a run has, by their numbers, and of each the one to show.

    That is the one that was complete first. Kinds are numbers, because a run may have a hundred
    thousand of them, and only those count that other runs have, too.
    """

    conflicts: Conflicts
    cycles: Indexes
    starts: npt.NDArray[np.intp]
    kinds: Column
    firsts: Indexes

    def occurrences(self, wanted: Column) -> dict[int, Occurrence]:
        """The accesses of some kinds, by the number of the kind."""
        at = np.flatnonzero(np.isin(self.kinds, wanted))
        every = self.conflicts.accesses() if len(at) else []
        rows = zip(
            self.kinds[at].tolist(),
            self.cycles[self.firsts[at]].tolist(),
            self.starts[self.firsts[at]].tolist(),
            strict=True,
        )
        return {
            kind: tuple(chain.from_iterable(every[one] for one in _turned(cycle, start)))
            for kind, cycle, start in rows
        }


class KindNumbers:
    """Numbers of kinds: the same in all runs, as long as the same pairs of points are tried."""

    def __init__(self, tried: Keys) -> None:
        self._pairs = np.unique(tried)
        self._base = np.int64(len(self._pairs) + 1)

    def numbered(self, conflicts: Conflicts, cycles: Indexes, rounds: Rounds) -> CyclesOfRun:
        """The cycles of a run, one in a row of the indexes of its conflicts."""
        if not len(cycles):
            none = np.empty(0, dtype=np.int64)
            return CyclesOfRun(conflicts, cycles, none, none, none)
        cycles = cycles[_completion(conflicts, cycles)]
        pairs, starts = _rotated(conflicts, cycles)
        keys = self._keys(pairs)
        differs = rounds.differ(conflicts, cycles)
        straight = conflicts.other_time[cycles[:, 0]] <= conflicts.first_time[cycles[:, -1]]
        turns = np.where(straight, STRAIGHT, CROSSED)
        kinds, firsts = [], []
        for of_one_round in (False, True):
            some = np.flatnonzero(~differs) if of_one_round else np.arange(len(cycles))
            for turn in (EITHER, STRAIGHT, CROSSED):
                which = some if turn == EITHER else some[turns[some] == turn]
                found, first = np.unique(keys[which], return_index=True)
                kinds.append(found * KINDS + of_one_round * TURNS + turn)
                firsts.append(which[first])
        return CyclesOfRun(conflicts, cycles, starts, np.concatenate(kinds), np.concatenate(firsts))

    def _keys(self, pairs: npt.NDArray[np.uint64]) -> Column:
        """One number for the pairs of a cycle; none is that of a cycle of fewer pairs."""
        keys = np.zeros(len(pairs), dtype=np.int64)
        for column in pairs.T:
            keys = keys * self._base + np.searchsorted(self._pairs, column) + 1
        return keys


def _completion(conflicts: Conflicts, cycles: Indexes) -> Indexes:
    """Their order: of those that end together first the one whose threads went on soonest."""
    ends = conflicts.other_time[cycles]
    waits = np.abs(conflicts.first_time[cycles[:, 1:]] - ends[:, :-1]).sum(axis=1)
    return np.lexsort((waits, ends.max(axis=1)))


def _rotated(
    conflicts: Conflicts, cycles: Indexes
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.intp]]:
    """The points of each from the conflict on that has the lowest ones, and which one that is.

    Which access comes first of all differs from run to run: counted from there, one cycle would be
    two, each with a part of the runs.
    """
    first, other = (
        one.astype(np.uint64)[cycles] for one in (conflicts.first_point, conflicts.other_point)
    )
    best = pairs = first << np.uint64(32) | other
    starts = np.zeros(len(cycles), dtype=np.intp)
    for start in range(1, cycles.shape[1]):
        turned = np.roll(pairs, -start, axis=1)
        lower = _is_lower(turned, best)
        best = np.where(lower[:, None], turned, best)
        starts[lower] = start
    return best, starts


def _is_lower(
    some: npt.NDArray[np.uint64], others: npt.NDArray[np.uint64]
) -> npt.NDArray[np.bool_]:
    """By rows: whether the first difference is in favour of the former."""
    column = (some != others).argmax(axis=1)
    rows = np.arange(len(some))
    lower: npt.NDArray[np.bool_] = some[rows, column] < others[rows, column]
    return lower


def _turned(cycle: list[int], start: int) -> list[int]:
    return cycle[start:] + cycle[:start]
