# SPDX-License-Identifier: Apache-2.0
"""Hypotheses: a few accesses whose order may be the cause, and the runs in which they had it."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unsnarl.analyses.falcon.scores import suspiciousness
from unsnarl.analyses.falcon.table import Indexes, Table, top
from unsnarl.analyses.recon.keys import Keys
from unsnarl.model.evidence import Comparison
from unsnarl.model.pattern import FINE, PatternKind, Patterns

# So many patterns are looked at closely. Thousands may be in every failing run of a large program.
CONSIDERED = 300
# A pair says less than a triple: that one access came before another, not why it should not have.
PAIR_WEIGHT = 0.9
# Less still, if the one gives a new object what the other reads: it could not have come earlier.
INITIAL_WEIGHT = 0.9
# What a statement did in one round of a loop and does in the next one was hardly meant to be whole.
# An iteration is: it reads the same at one statement, over and over.
ROUNDS_WEIGHT = 0.85
WRITES_TWICE = (PatternKind.WRW, PatternKind.WWW)


class Access(NamedTuple):
    """One access of a hypothesis in one run; `point` is that of its line, `shown` its own."""

    thread: int
    time: int
    point: int
    shown: int


Occurrence = tuple[Access, ...]


class Hypothesis:
    """Accesses in an order, with the failing runs in which they occurred, and how they did."""

    def __init__(
        self, shape: str, weight: float, occurrences: dict[int, Occurrence], passing: int, of: int
    ) -> None:
        self.shape = shape
        self.weight = weight
        self.occurrences = occurrences
        self.passing = passing
        # Falcon 3.2, equation 2.
        self.jaccard = len(occurrences) / (of + passing)
        self.score = weight * self.jaccard

    @property
    def points(self) -> tuple[int, ...]:
        """The lines' points, in the order of the hypothesis."""
        return tuple(access.point for access in next(iter(self.occurrences.values())))

    @cached_property
    def end(self) -> float:
        """When it was complete, on average. What follows from a cause is complete later."""
        return statistics.fmean(max(a.time for a in one) for one in self.occurrences.values())

    @cached_property
    def second(self) -> float:
        """When its second access was, on average: the first one that came between."""
        return statistics.fmean(sorted(a.time for a in one)[1] for one in self.occurrences.values())

    @cached_property
    def span(self) -> float:
        """How far apart its accesses were, on average."""
        return statistics.fmean(
            max(a.time for a in one) - min(a.time for a in one) for one in self.occurrences.values()
        )


def pattern_hypotheses(comparison: Comparison, counted: Table) -> list[Hypothesis]:
    """The most suspicious patterns; `counted` counts by line."""
    wanted = _most_suspicious(comparison, counted)
    identity = counted.identity(wanted)
    found: dict[int, dict[int, Occurrence]] = {int(counted.keys[row]): {} for row in wanted}
    keys = np.sort(counted.keys[wanted])
    for run, evidence in enumerate(comparison.failing):
        for key, row in _first_occurrences(*counted.occurrences(evidence, keys)):
            found[key][run] = _occurrence(row, comparison.points.line)
    kinds = map(PatternKind, identity.kind.tolist())
    rows = ((row, kind, found[int(counted.keys[row])])
            for row, kind in zip(wanted.tolist(), kinds, strict=True))  # fmt: skip
    return [
        Hypothesis(
            kind.notation,
            _weight(kind, occurrences, comparison),
            occurrences,
            int(counted.passed[row]),
            counted.failing,
        )
        for row, kind, occurrences in rows
    ]


def _weight(kind: PatternKind, occurrences: dict[int, Occurrence], comparison: Comparison) -> float:
    if not is_unserialisable(kind):
        return _pair_weight(occurrences, comparison)
    same = all(one[0].shown == one[-1].shown for one in occurrences.values())
    return ROUNDS_WEIGHT if same and kind in WRITES_TWICE else 1.0


def _pair_weight(occurrences: dict[int, Occurrence], comparison: Comparison) -> float:
    points = [access.point for access in next(iter(occurrences.values()), ())]
    initial = comparison.points.begins_with_initial(points)
    return PAIR_WEIGHT * (INITIAL_WEIGHT if initial else 1.0)


def is_unserialisable(kind: PatternKind) -> bool:
    """Whether it is one of Falcon's triples (table 2)."""
    return PatternKind.RWR <= kind <= PatternKind.WWW


def _most_suspicious(comparison: Comparison, counted: Table) -> Indexes:
    def doubt(rows: Indexes) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        failed, passed = counted.failed[rows], counted.passed[rows]
        return -suspiciousness(failed, passed, counted.failing, counted.passing)

    in_order = [doubt, *counted.in_site_order(comparison.points.order)]
    return top(np.flatnonzero(counted.failed), in_order, CONSIDERED)


def _first_occurrences(keys: Keys, rows: Patterns) -> Iterator[tuple[int, np.void]]:
    """Of the occurrences of a pattern in one run, the one that was complete first."""
    # A pair has no last access, and 0 for its time.
    ends = np.maximum(rows["last_time"], rows["other_time"])
    seen = set()
    for at in np.argsort(ends, kind="stable").tolist():
        key = int(keys[at])
        if key not in seen:
            seen.add(key)
            yield key, rows[at]


def _occurrence(row: np.void, line: npt.NDArray[np.uint32]) -> Occurrence:
    kind = PatternKind(int(row["kind"]) % FINE)
    threads = (int(row["first_thread"]), int(row["other_thread"]))
    return tuple(
        Access(
            threads[role - 1],
            int(row[f"{which}_time"]),
            int(line[row[f"{which}_point"]]),
            int(row[f"{which}_point"]),
        )
        for role, which in zip(kind.roles, ("first", "other", "last"), strict=False)
    )
