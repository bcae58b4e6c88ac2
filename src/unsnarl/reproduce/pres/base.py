# SPDX-License-Identifier: Apache-2.0
"""When the events of a record happened: what its clocks prove, and what they make likely.

Two stamps of one core are in the order of their values. Those of two cores are, if they are further
apart than the skew can be (ReCBuLC III, equations 1 to 3), and by as much again as a stamp that was
read without a fence may be off. Corrected by the middle of the range all stamps are on one
axis: that proves nothing, and is right nearly always.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from unsnarl.model.event import Op, ops_of
from unsnarl.model.record import Record, Recorded
from unsnarl.recording.clocks.ranges import Clocks

Counts = npt.NDArray[np.int64]
# Stamped behind a fence, also where others are not (native/recorder/log.c).
FENCED = (Op.ACQUIRE, Op.START, Op.BEGIN, Op.END, Op.JOIN)
FAR = 1 << 62
# A stamp without a fence is early: what comes before it may be seen later, by the record's slack.
# It is late only by what a core does ahead of it, some hundreds of instructions.
LATE = 2000


class ContradictionError(ValueError):
    """What the clocks prove cannot all be true: they, or the record, are not what they were."""


class Stamps(msgspec.Struct, frozen=True):
    """The stamps of one thread, in its own order.

    Attributes:
        slack: By how much each may be early.
    """

    ticks: Counts
    cores: Counts
    slack: Counts


class Times:
    """The stamps of a record's threads, and how they compare.

    Attributes:
        threads: By thread.
        all_measured: Whether the clocks of all its cores were measured.
    """

    def __init__(self, record: Record, clocks: Clocks | None) -> None:
        self._clocks = clocks
        self._numbered = record.how.order == "global"
        self.threads = [_stamps(one.events, record.how) for one in record.threads]
        cores = sorted({int(c) for one in self.threads for c in np.unique(one.cores)})
        self._cores = [0] if self._numbered else cores
        self.all_measured = all(self._high(a, b) < FAR for a in self._cores for b in self._cores)

    def _high(self, first: int, second: int) -> int:
        """The stamp on core `second` is later if it is larger by more than this."""
        if first == second or self._numbered:
            return 0
        found = self._clocks.range(first, second) if self._clocks else None
        return FAR if found is None else found.high

    def before(self, thread: int, other: int) -> Counts:
        """How many events of `other` are proved to be before each event of `thread`."""
        mine, theirs = self.threads[thread], self.threads[other]
        found = np.zeros(len(mine.ticks), dtype=np.int64)
        for core in np.unique(theirs.cores).tolist():
            positions = np.flatnonzero(theirs.cores == core)
            for own in np.unique(mine.cores).tolist():
                here = np.flatnonzero(mine.cores == own)
                # Between two threads on one core the kernel switched, which is fence enough.
                unfenced = int(core != own)
                ends = (theirs.ticks + theirs.slack * unfenced)[positions]
                # What comes later in a thread is no earlier: a stamp that may lie less says more.
                ends = np.minimum.accumulate(ends[::-1])[::-1]
                late = np.minimum(mine.slack, LATE) * unfenced
                begins = (mine.ticks - late)[here] - self._high(core, own)
                count = np.searchsorted(ends, begins, side="left")
                over = np.where(count > 0, positions[np.maximum(count - 1, 0)] + 1, 0)
                found[here] = np.maximum(found[here], over)
        return np.maximum.accumulate(found) if len(found) else found

    def corrected(self, thread: int) -> npt.NDArray[np.float64]:
        """The stamps of a thread on one axis for all, never falling."""
        one = self.threads[thread]
        shifts = np.zeros(max(self._cores, default=0) + 1)
        for core in self._cores:
            shifts[core] = self._middle(core)
        own = one.ticks - shifts[np.zeros_like(one.cores) if self._numbered else one.cores]
        # A thread's own order is certain; the shift between two cores is not.
        return np.maximum.accumulate(own) if len(own) else own

    def _middle(self, core: int) -> float:
        first = self._cores[0]
        found = self._clocks.range(first, core) if self._clocks and not self._numbered else None
        return (found.low + found.high) / 2 if found and core != first else 0.0


def _stamps(events: npt.NDArray[Any], how: Recorded) -> Stamps:
    ops = ops_of(events["point"])
    lies = 0 if how.order == "global" else how.slack
    slack = np.where(np.isin(ops, FENCED), 0, lies).astype(np.int64)
    return Stamps(events["stamp"].astype(np.int64), events["core"].astype(np.int64), slack)


def merged(
    times: Sequence[npt.NDArray[np.float64]], needs: Sequence[npt.NDArray[np.int64]]
) -> list[tuple[int, int]]:
    """All events as (thread, position), the earliest first of those whose needs are over.

    Args:
        times: By thread, on one axis.
        needs: By thread: row by event, column by thread, how many of its events come before.
    """
    done = np.zeros(len(times), dtype=np.int64)
    heap = [(float(own[0]), thread) for thread, own in enumerate(times) if len(own)]
    heapq.heapify(heap)
    waiting: list[tuple[float, int]] = []
    order: list[tuple[int, int]] = []
    while heap:
        time, thread = heapq.heappop(heap)
        position = int(done[thread])
        if np.any(needs[thread][position] > done):
            waiting.append((time, thread))
            # All threads that have events left wait for one another.
            if not heap:
                raise ContradictionError
            continue
        order.append((thread, position))
        done[thread] += 1
        if position + 1 < len(times[thread]):
            heapq.heappush(heap, (float(times[thread][position + 1]), thread))
        for one in waiting:
            heapq.heappush(heap, one)
        waiting.clear()
    return order
