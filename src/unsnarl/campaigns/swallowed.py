# SPDX-License-Identifier: Apache-2.0
"""Exceptions that the program swallows, and which of them set failing runs apart from passing ones.

One that nearly all failing runs have and no passing run has is the failing point: the program goes
on for a while, but what its thread does from there on is a consequence (docs/adr/0040).
"""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from statistics import mean
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from unsnarl.model.evidence import Evidence
from unsnarl.model.graph import Graph
from unsnarl.model.pattern import PatternKind, Patterns, kinds_of
from unsnarl.model.run import Caught, CaughtKind, Failure, Frame

# Of the failing runs, how many must have an exception that explains them; replays and threads that
# are cut off by the end of the process may lack it.
NEARLY_ALL = 0.9
# An exception that some passing runs have, too, is shown if they have it so much more rarely.
RARER = 0.5
FEWEST_RUNS = 3
MOST_SHOWN = 3


class Swallowed(NamedTuple):
    """A kind of exception that sets failing runs apart: how many of either sort have it."""

    kind: CaughtKind
    failing: int
    passing: int


Runs = Sequence[Sequence[Caught]]
# Columns of a table: threads and times.
Access = tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint64]]


def discriminating(failing: Runs, passing: Runs) -> tuple[Swallowed, ...]:
    """The kinds of exceptions that nearly all failing runs have and few passing ones, in order.

    The order is that of their times in the failing runs.
    """
    if not passing or len(failing) < FEWEST_RUNS:
        return ()
    counts, others = _counts(failing), _counts(passing)
    positions = _positions(failing)
    found = [
        Swallowed(kind, count, others[kind])
        for kind, count in counts.items()
        if count >= NEARLY_ALL * len(failing)
        and others[kind] / len(passing) <= RARER * count / len(failing)
    ]
    return tuple(sorted(found, key=lambda one: positions[one.kind]))


def failing_point(swallowed: Sequence[Swallowed]) -> CaughtKind | None:
    """The first exception that no passing run has.

    Not a call that returned an error: the program goes on as it is written, and what it does then
    may be the bug (docs/adr/0056).
    """
    found = (one.kind for one in swallowed if not one.passing and not one.kind.call)
    return next(found, None)


def chain(
    caught: Sequence[Caught], failure: Failure | None, swallowed: Sequence[Swallowed]
) -> tuple[Caught, ...]:
    """What a run caught of these kinds, in the order of time; each exception at its last handler.

    Not the one that failed the run in the end: that is the symptom.
    """
    kinds = {one.kind for one in swallowed}
    found: dict[tuple[str, Frame | None], Caught] = {}
    for one in sorted(caught, key=lambda one: one.time):
        if one.kind in kinds and not _is_symptom(one.kind, failure):
            # Of a later handler: an earlier one has raised it again, perhaps in another thread.
            first = found.setdefault((one.type, one.kind.raised), one)
            found[one.type, one.kind.raised] = replace(first, by=one.by)
    return tuple(list(found.values())[:MOST_SHOWN])


def _is_symptom(kind: CaughtKind, failure: Failure | None) -> bool:
    if failure is None or not failure.frames:
        return False
    return (kind.type, kind.raised) == (failure.type, failure.frames[-1])


def _counts(runs: Runs) -> Counter[CaughtKind]:
    return Counter(kind for run in runs for kind in {caught.kind for caught in run})


def _positions(runs: Runs) -> dict[CaughtKind, float]:
    """How early each kind comes, on average. Handlers of one exception share its time."""
    found: defaultdict[CaughtKind, list[int]] = defaultdict(list)
    for run in runs:
        for at, caught in enumerate(sorted(run, key=lambda one: one.time)):
            found[caught.kind].append(at)
    return {kind: mean(positions) for kind, positions in found.items()}


def cut_off(evidence: Evidence, ends: Mapping[int, int]) -> Evidence:
    """The evidence without what threads did after they had failed.

    Args:
        ends: By the index of a thread: when it failed.
    """
    if not ends:
        return evidence
    edges = evidence.graph.edges
    accesses = [(edges[f"{end}_thread"], edges[f"{end}_time"]) for end in ("source", "sink")]
    # Times are those of the latest occurrence: what counts several may have come before, too.
    late = _is_late(accesses, ends) & (edges["count"] <= 1)
    pairs = evidence.pairs[~_is_late(_accesses(evidence.pairs), ends)]
    return dataclasses.replace(
        evidence,
        graph=Graph(edges[~late]),
        patterns=_early(evidence.patterns, pairs, ends),
        pairs=pairs,
    )


def _early(patterns: Patterns, pairs: Patterns, ends: Mapping[int, int]) -> Patterns:
    """The patterns that came before the ends of their threads, too; `pairs` are all that did."""
    late = _is_late(_accesses(patterns), ends)
    # The pairs are listed with every occurrence. A triple begins with one, unless both accesses are
    # of one thread.
    begun = np.isin(_beginnings(patterns), _beginnings(pairs))
    begun |= kinds_of(patterns) == PatternKind.UNREAD
    return patterns[~late | (begun & (patterns["count"] > 1))]


def _beginnings(patterns: Patterns) -> npt.NDArray[np.uint64]:
    points = patterns["first_point"].astype(np.uint64) << np.uint64(32) | patterns["other_point"]
    mixed: npt.NDArray[np.uint64] = points
    return mixed


def _accesses(patterns: Patterns) -> list[Access]:
    """By access of a pattern: its thread and its time."""
    kinds = kinds_of(patterns)
    first, other = patterns["first_thread"], patterns["other_thread"]
    # Of most triples the first thread makes the last access; of these two the second one does.
    last = np.where(np.isin(kinds, (PatternKind.UNREAD, PatternKind.REREAD)), other, first)
    middle = np.where(kinds == PatternKind.UNREAD, first, other)
    threads = {"first": first, "other": middle, "last": last}
    return [(who, patterns[f"{name}_time"]) for name, who in threads.items()]


def _is_late(accesses: Sequence[Access], ends: Mapping[int, int]) -> npt.NDArray[np.bool_]:
    """Which rows have an access that a thread made after its end."""
    late = np.zeros(len(accesses[0][0]), dtype=bool)
    for thread, end in ends.items():
        for who, times in accesses:
            late |= (who == thread) & (times > end)
    return late
