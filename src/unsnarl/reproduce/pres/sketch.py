# SPDX-License-Identifier: Apache-2.0
"""A sketch: what a gated run must keep to, to be the recorded one (PRES; ReCBuLC IV.A).

Every thread does its events in its own order. Between threads only that order is kept which the
hard ranges of the clocks prove, in as few demands as it takes: the latest event of each other
thread, unless something that must come first anyway demands it already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from unsnarl.errors import UsageError
from unsnarl.model.choices import Level
from unsnarl.model.record import Record
from unsnarl.recording.clocks.ranges import Clocks
from unsnarl.reproduce.pres.base import ContradictionError, Counts, Times, merged
from unsnarl.reproduce.recorded import Case

# By native/gate/sketch.h.
MAGIC, VERSION = b"UNSKETCH", 1
HEADER = np.dtype([("magic", "S8"), ("version", "<u4"), ("counts", "<u4", 3)])
THREAD = np.dtype([("path", "S48"), ("first", "<u4"), ("length", "<u4"), ("last", "<u8")])
EVENT = np.dtype([("due", "<u8"), ("point", "<u4"), ("needs", "<u4")])
NEED = np.dtype([("thread", "<u4"), ("count", "<u4")])

Need = tuple[int, int]  # a thread, and how many of its events


class Sketch:
    """The events of a record's threads, what orders them, and when they probably were.

    Attributes:
        level: What kinds of events there are.
        paths: The threads.
        points: By thread, its events.
        times: By thread, when they were, on one axis.
        order: All events as (thread, position), in the order of the base.
        closure: By thread: how many events of each thread are before an event; row by event.
        needs: By thread and event, what has to be waited for.
        total: How many events there are.
        has_ranges: Whether the clocks of all its cores are known.
    """

    def __init__(self, record: Record, clocks: Clocks | None) -> None:
        self.level: Level = record.how.level
        self.paths = tuple(one.path for one in record.threads)
        self.points = [one.events["point"].astype(np.int64) for one in record.threads]
        times = Times(record, clocks)
        self.times = [times.corrected(at) for at in range(len(self.paths))]
        direct = direct_orders(times)
        self.order = merged(self.times, direct)
        self.closure, self.needs = reduced(direct, self.order)
        self.total = len(self.order)
        self.has_ranges = times.all_measured

    @property
    def demands(self) -> int:
        """How often an event has to wait for one of another thread."""
        return sum(len(rows) for own in self.needs for rows in own.values())

    def is_before(self, one: Need, other: Need) -> bool:
        """Whether (thread, position) `one` is proved to come before `other`."""
        (first, at), (second, there) = one, other
        if at < 0 or there >= len(self.points[second]) or at >= len(self.points[first]):
            return False
        return there >= 0 and int(self.closure[second][there][first]) > at

    def write(self, path: Path, last: Sequence[str] = ()) -> None:
        """For the gate: threads whose events are over go on in the order of `last`."""
        points = [one.tolist() for one in self.points]
        write_sketch(path, dict(zip(self.paths, points, strict=True)), self.order, self.needs, last)


def sketch_of(case: Case) -> Sketch:
    """The sketch of a recorded failure.

    Raises:
        UsageError: What its clocks say cannot all be true.
    """
    try:
        return Sketch(case.record, case.clocks)
    except ContradictionError:
        raise UsageError(
            "damaged-run-file",
            f"the stamps of run {case.run.number} contradict each other",
            "measure the clocks and record the failure anew: unsnarl clocks --again",
        ) from None


def write_sketch(
    path: Path,
    points: Mapping[str, Sequence[int]],
    order: Sequence[Need],
    needs: Sequence[Mapping[int, Sequence[Need]]],
    last: Sequence[str] = (),
) -> None:
    """For the gate.

    Args:
        points: The events of each thread, by its path.
        order: All of them as (thread, position).
        needs: By thread and position, what has to be waited for.
        last: Threads in whose order those go on whose events are over.
    """
    due = {event: at for at, event in enumerate(order)}
    rank = {name: at for at, name in enumerate(last)}
    threads = np.zeros(len(points), THREAD)
    # One row more than events: where the needs of the last event end.
    events = np.zeros(len(order) + 1, EVENT)
    rows: list[Need] = []
    at = 0
    for thread, (name, own) in enumerate(points.items()):
        after = len(order) + rank.get(name, len(rank) + thread)
        threads[thread] = (name.encode(), at, len(own), after)
        for position, point in enumerate(own):
            events[at] = (due[thread, position], point, len(rows))
            rows += needs[thread].get(position, ())
            at += 1
    events[at] = (0, 0, len(rows))
    table = np.zeros(len(rows), NEED)
    wanted = np.array(rows, dtype=np.int64).reshape(-1, 2)
    table["thread"], table["count"] = wanted[:, 0], wanted[:, 1]
    header = np.array([(MAGIC, VERSION, (len(threads), len(order), len(rows)))], HEADER)
    # A file, not a part of the plan: a record may have a million events, and one file serves all
    # tries (docs/internals/reproduce.md).
    path.write_bytes(b"".join(part.tobytes() for part in (header, threads, events, table)))


def direct_orders(times: Times) -> list[Counts]:
    """By thread: row by event, column by thread, how many of its events are proved before."""
    count = len(times.threads)
    found = []
    for thread, stamps in enumerate(times.threads):
        rows = np.zeros((len(stamps.ticks), count), dtype=np.int64)
        for other in range(count):
            if other != thread:
                rows[:, other] = times.before(thread, other)
        rows[:, thread] = np.arange(len(stamps.ticks))
        found.append(rows)
    return found


def reduced(
    direct: Sequence[Counts], order: Sequence[Need]
) -> tuple[list[npt.NDArray[np.int64]], list[dict[int, list[Need]]]]:
    """What follows from the orders, and the few of them from which all of that follows.

    Args:
        direct: What is proved of each event, as of direct_orders.
        order: All events, each behind those that are proved to be before it.
    """
    closure = [rows.copy() for rows in direct]
    needs: list[dict[int, list[Need]]] = [{} for _ in direct]
    for thread, position in order:
        proved = direct[thread][position]
        implied = closure[thread][position - 1].copy() if position else np.zeros_like(proved)
        implied[thread] = position
        wanted = np.flatnonzero(proved > implied).tolist()
        behind: Mapping[int, Counts] = {
            other: closure[other][int(proved[other]) - 1] for other in wanted
        }
        kept = [
            (other, int(proved[other]))
            for other in wanted
            if not any(behind[via][other] >= proved[other] for via in wanted if via != other)
        ]
        if kept:
            needs[thread][position] = kept
        total = np.maximum.reduce([implied, proved, *behind.values()])
        total[thread] = position
        closure[thread][position] = total
    return closure, needs
