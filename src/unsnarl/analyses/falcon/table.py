# SPDX-License-Identifier: Apache-2.0
"""All patterns of some runs, each once, with the number of failing and passing runs that have it.

A pattern becomes one integer, so that sets of patterns are sorted arrays:

     63     3*width       2*width         width           0
    +------+-------------+---------------+---------------+
    | kind | first point |  other point  |  last point   |
    +------+-------------+---------------+---------------+

Up to a million points fit. Beyond, both halves are numbered by sorted tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unsnarl.analyses.recon.keys import Counts, Keys, distinct, lookup, tally
from unsnarl.analyses.recon.timelines import find_keys
from unsnarl.model.evidence import Comparison, Evidence
from unsnarl.model.pattern import FINE, Patterns, kinds_of

Indexes = npt.NDArray[np.intp]
Points = npt.NDArray[np.intp]
SortKey = Callable[[Indexes], npt.NDArray[Any]]

_POINTS = ("first_point", "other_point", "last_point")
_HALF_WORD = np.uint64(32)
_KIND_BITS = 4
_NOTHING: Keys = np.empty(0, dtype=np.uint64)


class Identity(NamedTuple):
    """Parallel arrays: what distinguishes patterns."""

    kind: Points
    first: Points
    other: Points
    last: Points


@dataclass(frozen=True, eq=False)
class Counting:
    """Which patterns count, and as what.

    Attributes:
        fine: Whether patterns count that Falcon's windows do not show.
        line: By point: the one that it counts as; if not given, itself.
        only: Which patterns of a run count; if not given, all.
    """

    fine: bool = False
    line: npt.NDArray[np.uint32] | None = None
    only: Callable[[Evidence], npt.NDArray[np.bool_]] | None = None

    def rows(self, run: Evidence) -> Indexes:
        """The rows that count. They are wide: better not to copy them."""
        # Below FINE are exactly the patterns of Falcon's own windows (docs/adr/0010).
        counts = run.patterns["kind"] < (2 * FINE if self.fine else FINE)
        return np.flatnonzero(counts & self.only(run) if self.only else counts)

    def points(self, patterns: Patterns, which: str) -> npt.NDArray[np.uint32]:
        """What a column of points counts as."""
        points: npt.NDArray[np.uint32] = patterns[which]
        return points if self.line is None else self.line[points]


class PatternKeys:
    """The numbering of patterns that some runs share."""

    def __init__(self, runs: Sequence[Patterns], counting: Counting) -> None:
        self._counting = counting
        # A line is represented by its lowest point, so raw points bound what `line` makes of them.
        largest = max((int(run[p].max()) for run in runs if len(run) for p in _POINTS), default=0)
        self._width = np.uint64(largest.bit_length())
        self._packs = 3 * largest.bit_length() + _KIND_BITS <= 64
        self._heads = self._tails = _NOTHING
        if not self._packs:
            self._heads, _ = tally(distinct(self._head(run))[0] for run in runs)
            self._tails, _ = tally(distinct(self._tail(run))[0] for run in runs)

    def of(self, run: Patterns) -> Keys:
        """The keys of patterns that are among those of the runs."""
        if not self._packs:
            heads = np.searchsorted(self._heads, self._head(run)).astype(np.uint64)
            tails = np.searchsorted(self._tails, self._tail(run)).astype(np.uint64)
            return heads << _HALF_WORD | tails
        # Without the mark of fine patterns: seen by either window, it is one pattern.
        keys = kinds_of(run).astype(np.uint64)
        for point in _POINTS:
            keys = keys << self._width | self._counting.points(run, point)
        return keys

    def _head(self, run: Patterns) -> Keys:
        first, other = (self._counting.points(run, which) for which in _POINTS[:2])
        head: Keys = first.astype(np.uint64) << _HALF_WORD | other
        return head

    def _tail(self, run: Patterns) -> Keys:
        last = self._counting.points(run, "last_point").astype(np.uint64)
        tail: Keys = last << _HALF_WORD | kinds_of(run)
        return tail

    def identity(self, keys: Keys) -> Identity:
        """What the keys stand for."""
        if not self._packs:
            heads = self._heads[(keys >> _HALF_WORD).astype(np.intp)]
            tails = self._tails[(keys & _mask(_HALF_WORD)).astype(np.intp)]
            return _identity(tails & _mask(_HALF_WORD), *_halves(heads), tails >> _HALF_WORD)
        mask, width = _mask(self._width), self._width
        first, other, last = (keys >> width * np.uint64(at) & mask for at in (2, 1, 0))
        return _identity(keys >> width * np.uint64(3), first, other, last)


@dataclass(frozen=True, eq=False)
class Table:
    """Patterns and the numbers of runs that have them.

    Attributes:
        failed: How many of the `failing` runs have each pattern.
        passed: How many of the `passing` runs have it.
    """

    keys: Keys
    failed: Counts
    passed: Counts
    failing: int
    passing: int
    counting: Counting
    numbering: PatternKeys

    def __len__(self) -> int:
        return len(self.keys)

    def identity(self, rows: Indexes | None = None) -> Identity:
        """Kinds and points of some of the patterns, or of all."""
        return self.numbering.identity(self.keys if rows is None else self.keys[rows])

    def occurrences(self, evidence: Evidence, wanted: Keys) -> tuple[Keys, Patterns]:
        """The rows of a run that are among the wanted patterns (sorted), with their keys."""
        rows = self.counting.rows(evidence)
        keys = self.numbering.of(evidence.patterns)[rows]
        at, _ = find_keys(wanted, keys)
        return keys[at], evidence.patterns[rows[at]]

    def in_site_order(self, order: npt.NDArray[np.intp]) -> list[SortKey]:
        """Keys that sort patterns as their sites are sorted."""
        return [
            lambda rows: order[self.identity(rows).first],
            lambda rows: order[self.identity(rows).other],
            lambda rows: order[self.identity(rows).last],
            lambda rows: self.identity(rows).kind,
        ]


def table(comparison: Comparison, counting: Counting | None = None) -> Table:
    """Counts the patterns of all runs."""
    counting = counting or Counting()
    runs = [*comparison.failing, *comparison.passing]
    numbering = PatternKeys([run.patterns for run in runs], counting)

    def key_sets(runs: Sequence[Evidence]) -> Iterator[Keys]:
        for run in runs:
            # Two raw points may be one point of the campaign, so a run may have a pattern twice.
            yield distinct(numbering.of(run.patterns)[counting.rows(run)])[0]

    failed = tally(key_sets(comparison.failing))
    passed = tally(key_sets(comparison.passing))
    keys, _ = distinct(np.concatenate((failed[0], passed[0])))
    return Table(
        keys=keys,
        failed=lookup(*failed, keys),
        passed=lookup(*passed, keys),
        failing=len(comparison.failing),
        passing=len(comparison.passing),
        counting=counting,
        numbering=numbering,
    )


def top(rows: Indexes, sort_keys: Sequence[SortKey], keep: int) -> Indexes:
    """The `keep` rows that sort first, the most significant key first.

    A key is asked only for the rows that are still undecided: nearly always a few, of millions.
    """
    chosen: list[Indexes] = []
    tied, missing = rows, keep
    for sort_key in sort_keys:
        if len(tied) <= missing:
            break
        values = sort_key(tied)
        limit = np.partition(values, missing - 1)[missing - 1]
        chosen.append(tied[values < limit])
        tied = tied[values == limit]
        missing -= len(chosen[-1])
    best = np.concatenate([*chosen, tied[:missing]])
    return best[np.lexsort([sort_key(best) for sort_key in reversed(sort_keys)])]


def _halves(keys: Keys) -> tuple[Keys, Keys]:
    return keys >> _HALF_WORD, keys & _mask(_HALF_WORD)


def _identity(*columns: Keys) -> Identity:
    return Identity._make(column.astype(np.intp) for column in columns)


def _mask(bits: np.uint64) -> np.uint64:
    return np.uint64((1 << int(bits)) - 1)
