# SPDX-License-Identifier: Apache-2.0
"""What threads would still have done when a run ended: the access that came too late to happen.

A failed assertion ends the process before the other thread makes the access that it came too early
for. That access is in no trace, and in no pattern. But the run knows what each thread was about to
do, and who had touched the cells last; passing runs show what such a thread does from there, and
what that conflicts with (docs/adr/0029).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from statistics import median
from typing import NamedTuple

import numpy as np

from unsnarl.model.cpp_names import SYSTEM_HEADERS
from unsnarl.model.event import Op, op_of
from unsnarl.model.evidence import Due, Evidence
from unsnarl.model.ordered import open_patterns
from unsnarl.model.pattern import FINE, PATTERN, PatternKind, kinds_of
from unsnarl.model.run import in_cycle
from unsnarl.runfile import Interner, RunFile

# Accesses of one run that were still to come; of a large program there may be very many.
MOST_DUE = 500
KINDS = {
    (False, True): PatternKind.RW,
    (True, False): PatternKind.WR,
    (True, True): PatternKind.WW,
}
TRIPLES = {
    (False, True, False): PatternKind.RWR,
    (True, True, False): PatternKind.WWR,
    (True, False, True): PatternKind.WRW,
    (False, True, True): PatternKind.RWW,
    (True, True, True): PatternKind.WWW,
}


class LatestAccess(NamedTuple):
    """One of the accesses that a cell had last."""

    thread: int
    time: int
    point: int
    writes: bool


class Unfinished:
    """Adds what was still to come to the evidence of runs.

    Args:
        passing: Runs that show what threads do.
        runs: All runs, for what conflicts with what.
    """

    def __init__(
        self,
        passing: Sequence[RunFile],
        runs: Sequence[tuple[RunFile, Evidence]],
        interner: Interner,
    ) -> None:
        self._interner = interner
        self._passing = passing
        self._runs = runs
        self._expected: dict[str, dict[int, float]] = {}
        self._conflicts: dict[int, set[int]] | None = None

    def completed(self, run: RunFile, evidence: Evidence) -> Evidence:
        """The evidence of a run with the patterns that its unfinished threads were about to end."""
        # Of a wait cycle, what threads would do next comes after the waits that are the cause: it
        # would be in all failing and in no passing runs.
        if not len(run.pending) or run.standstill or in_cycle(run.waits):
            return evidence
        latest = self._latest(run)
        wanted = dict.fromkeys(islice(self._due(run, latest), MOST_DUE))
        met = {one: [*self._met(one, run, latest[one.cell])] for one in wanted}
        accesses = [one for one, others in met.items() if others]
        if not accesses:
            return evidence
        end = _end(run)
        rows = [
            row
            for one in accesses
            for other in met[one]
            for row in _patterns(one, other, latest[one.cell], end)
        ]
        patterns = np.array(rows, dtype=PATTERN)
        pairs = patterns[kinds_of(patterns) < PatternKind.RWR]
        return replace(
            evidence,
            patterns=np.concatenate([evidence.patterns, patterns]),
            pairs=np.concatenate([evidence.pairs, pairs]) if len(evidence.pairs) else pairs,
            due=(*self._acquires(run, {one.thread for one in accesses}), *accesses),
        )

    @cached_property
    def _never_swapped(self) -> set[tuple[int, int]]:
        """Two points that starting and joining put into this order whenever passing runs have both.

        What main does when it has joined all threads is in no run that one of these has ended: it
        is not what came too late.
        """
        ordered: set[tuple[int, int]] = set()
        free: set[tuple[int, int]] = set()
        passing = {id(run) for run in self._passing}
        for run, evidence in self._runs:
            rows = evidence.patterns[kinds_of(evidence.patterns) < PatternKind.RWR]
            if id(run) not in passing or not len(rows):
                continue
            points = (rows[f"{which}_point"].tolist() for which in ("first", "other"))
            is_free = open_patterns(rows, evidence.orders).tolist()
            for first, other, is_open in zip(*points, is_free, strict=True):
                (free if is_open else ordered).add((first, other))
        return ordered - free

    def _acquires(self, run: RunFile, threads: Collection[int]) -> Iterator[Due]:
        """The locks that some threads were about to take: what they do next comes after that."""
        points = self._interner.indexes(run.pending["point"], run).tolist()
        for (thread, raw, cell), point in zip(run.pending.tolist(), points, strict=True):
            # Of a wait that nobody ends they are listed as waits.
            if thread in threads and op_of(raw) is Op.ACQUIRE and not run.final_waits:
                yield Due(run.threads[thread].path, thread, point, raw, cell)

    def _met(self, due: Due, run: RunFile, rows: Sequence[LatestAccess]) -> Iterator[LatestAccess]:
        """The accesses of a cell that a due one would have conflicted with.

        Where its thread was about to make it, the cell is known. What passing runs say of it is a
        line only, and one line serves many objects: the account whose deposit is due is not the one
        that was looked at, if no run has the two accesses meet.
        """
        is_sure = (due.thread, due.raw, due.cell) in run.pending.tolist()
        for other in _neighbours(due, rows, op_of(due.raw) is Op.WRITE):
            meets = is_sure or other.point in self._conflicting(due.point)
            if meets and (other.point, due.point) not in self._never_swapped:
                yield other

    def _latest(self, run: RunFile) -> dict[int, list[LatestAccess]]:
        """By cell: its latest accesses, in order of time."""
        found: dict[int, list[LatestAccess]] = defaultdict(list)
        points = self._interner.indexes(run.latest["point"], run).tolist()
        for (time, cell, raw, thread, _), point in zip(run.latest.tolist(), points, strict=True):
            found[cell].append(LatestAccess(thread, time, point, op_of(raw) is Op.WRITE))
        return {cell: sorted(rows, key=lambda row: row.time) for cell, rows in found.items()}

    def _due(self, run: RunFile, latest: Mapping[int, list[LatestAccess]]) -> Iterator[Due]:
        """What each thread was about to do first, then what it does in passing runs."""
        points = self._interner.indexes(run.pending["point"], run).tolist()
        for (thread, raw, cell), point in zip(run.pending.tolist(), points, strict=True):
            if self._is_access(point, raw) and cell in latest:
                yield Due(run.threads[thread].path, thread, point, raw, cell)
        for thread, raw in run.pending[["thread", "point"]].tolist():
            # In which order it would have made them is not known: that of the code from where it
            # stands, as in a loop, comes near.
            rest = self._missed(run, thread, latest)
            yield from sorted(rest, key=lambda one: (one.raw < raw, one.raw))

    def _missed(
        self, run: RunFile, thread: int, latest: Mapping[int, list[LatestAccess]]
    ) -> Iterator[Due]:
        """What a thread does in passing runs and did not do here."""
        missing = self._missing(run, thread)
        for cell, rows in latest.items() if missing else ():
            others = {row.point for row in rows if row.thread != thread}
            for point in missing & set().union(*map(self._conflicting, others)):
                raw = min(self._interner.raw_points(point), default=0)
                if raw and self._is_access(point, raw):
                    yield Due(run.threads[thread].path, thread, point, raw, cell)

    def _is_access(self, point: int, raw: int) -> bool:
        """Whether it is one of the program: not of what starts and ends a thread around it.

        That is code of the system's headers that nobody in the program has called, on a block of
        the thread's own.
        """
        site = self._interner.point(point).site
        return op_of(raw) in (Op.READ, Op.WRITE) and not site.file.startswith(SYSTEM_HEADERS)

    def _missing(self, run: RunFile, thread: int) -> set[int]:
        """The accesses that the thread does more often in passing runs than it did here."""
        mine = run.counts[run.counts["thread"] == thread]
        done = dict(zip(mine["site"].tolist(), mine["count"].tolist(), strict=True))
        return {
            point
            for point, usual in self._usual(run.threads[thread].path).items()
            if usual > sum(done.get(raw >> 4, 0) for raw in self._interner.raw_points(point))
        }

    def _usual(self, path: str) -> dict[int, float]:
        """How often the thread of this path comes to each point that conflicts with another."""
        if path not in self._expected:
            wanted = {
                point: {raw >> 4 for raw in self._interner.raw_points(point)}
                for point in self._all_conflicts()
            }
            runs = [counts for run in self._passing if (counts := _counts(run, path)) is not None]
            self._expected[path] = {
                point: median(sum(one.get(site, 0) for site in sites) for one in runs)
                for point, sites in wanted.items()
                if runs
            }
        return self._expected[path]

    def _conflicting(self, point: int) -> set[int]:
        return self._all_conflicts().get(point, set())

    def _all_conflicts(self) -> dict[int, set[int]]:
        if self._conflicts is None:
            self._conflicts = defaultdict(set)
            pairs = np.unique(np.concatenate([_pairs(one) for _, one in self._runs] or [_NONE]))
            for pair in pairs.tolist():
                first, other = pair >> 32, pair & 0xFFFF_FFFF
                self._conflicts[first].add(other)
                self._conflicts[other].add(first)
        return self._conflicts


_NONE = np.empty(0, dtype=np.uint64)


def _pairs(evidence: Evidence) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Two accesses that conflicted, each a half of the number."""
    rows = evidence.patterns[kinds_of(evidence.patterns) < PatternKind.RWR]
    first, other = (rows[f"{end}_point"].astype(np.uint64) for end in ("first", "other"))
    return np.unique(first << np.uint64(32) | other)


def _counts(run: RunFile, path: str) -> dict[int, int] | None:
    """How often a thread came to each site; None if the run has no such thread."""
    index = next((thread.index for thread in run.threads if thread.path == path), None)
    if index is None:
        return None
    mine = run.counts[run.counts["thread"] == index]
    return dict(zip(mine["site"].tolist(), mine["count"].tolist(), strict=True))


def _end(run: RunFile) -> int:
    """A time after all that happened."""
    times = [run.latest["time"], run.edges["sink_time"], run.patterns["other_time"]]
    return 1 + max((int(column.max()) for column in times if len(column)), default=0)


def _patterns(
    due: Due, other: LatestAccess, rows: Sequence[LatestAccess], end: int
) -> Iterator[tuple[int, ...]]:
    """What the access would have completed: with another thread's latest, and its own before."""
    writes = op_of(due.raw) is Op.WRITE
    head = (other.point, due.point, 0, other.thread, due.thread, other.time, end, due.cell)
    yield (*head, 1, KINDS[other.writes, writes] + FINE, 2, 0)
    mine = [row for row in rows if row.thread == due.thread and row.time < other.time]
    for own in mine[-1:]:
        kind = TRIPLES.get((own.writes, other.writes, writes))
        if kind is not None:
            points = (own.point, other.point, due.point, own.thread, other.thread)
            yield (*points, own.time, other.time, due.cell, 1, kind + FINE, 3, end)


def _neighbours(due: Due, rows: Sequence[LatestAccess], writes: bool) -> list[LatestAccess]:
    """The accesses that it would have conflicted with: nobody wrote in between."""
    found: dict[int, LatestAccess] = {}
    for row in reversed(rows):
        if row.thread != due.thread and (row.writes or writes):
            found.setdefault(row.thread, row)
        if row.writes:
            break
    return list(found.values())
