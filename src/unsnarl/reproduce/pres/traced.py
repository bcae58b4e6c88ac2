# SPDX-License-Identifier: Apache-2.0
"""The trace of a try: its events, and the position of each of them in the sketch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unsnarl.model.event import Event, Op
from unsnarl.placement.timeline import Timeline
from unsnarl.reproduce.pres.sketch import Sketch
from unsnarl.runfile import RunFile

# The gate's own rows in a trace: its thread has passed so many events; its latest access touched
# another cell, too (native/gate/sketch.c, gate.c).
MARK, ALSO_READ, ALSO_WROTE = int(Op.BLOCK), int(Op.ENTER), int(Op.EXIT)


class TimeSpan(NamedTuple):
    """Between which times of the record an event may have been."""

    begin: float
    end: float


class Traced:
    """The events of one try, without the gate's marks.

    Args:
        left: The thread that is known to have left the recorded path with its last event.

    Attributes:
        timeline: Its events.
        passed: By event, how many events of the sketch its thread had passed before it.
        left: The event from which on the try was certainly another run than the recorded one.
    """

    def __init__(self, run: RunFile, sketch: Sketch, left: str = "") -> None:
        self._sketch = sketch
        trace, also = _parted(run.trace)
        marks = trace["point"] == MARK
        self.passed = _passed(trace, marks, len(run.threads))
        self._marked = _marked(trace, marks)
        self.timeline = Timeline(run, trace[~marks])
        self._also = also
        # Those that never came back are at the end of their threads.
        self.passed += [FAR_ON] * len(self.timeline.pending)
        self._number = {path: at for at, path in enumerate(sketch.paths)}
        stamps = [own for own in sketch.times if len(own)]
        self._begin = min((float(own[0]) for own in stamps), default=0.0)
        self._end = max((float(own[-1]) for own in stamps), default=0.0)
        paths = [one.path for one in run.threads]
        self._left = self._last_of(left) or self._departure(trace, marks, paths)
        self.left = self._left[2] if self._left else len(self.passed)

    def _position(self, event: Event) -> tuple[int, int] | None:
        thread = self._number.get(event.path)
        return None if thread is None else (thread, self.passed[event.at])

    def _last_of(self, path: str) -> tuple[str, int, int] | None:
        """That a thread left the sketch with the last of its events."""
        own = [event.at for event in self.timeline.events if event.path == path]
        return (path, self.passed[own[-1]], len(self.passed)) if own else None

    def _departure(
        self, trace: npt.NDArray[np.void], marks: npt.NDArray[np.bool_], paths: list[str]
    ) -> tuple[str, int, int] | None:
        """The first thread that left the sketch, how much of it was behind it then, and when."""
        now = [0] * len(paths)
        events = np.cumsum(~marks)
        rows = trace[marks]
        marked = zip(rows["thread"].tolist(), rows["cell"].tolist(), events[marks], strict=True)
        for thread, passed, at in marked:
            if passed != now[thread] + 1:
                return paths[thread], now[thread], int(at)
            now[thread] = passed
        for path, passed in zip(paths, now, strict=True):
            number = self._number.get(path)
            if number is not None and passed < len(self._sketch.points[number]):
                return path, passed, len(self.passed)
        return None

    def decides(self, event: Event, failing: str) -> bool:
        """Whether it may have made its thread leave the sketch, or not fail where it had to.

        That is what the thread saw last: since the last event that was as recorded.
        """
        passed = self.passed[event.at]
        if event.at >= self.left:
            return False
        if self._left is not None and self._left[:2] == (event.path, passed):
            return True
        number = self._number.get(event.path)
        at_the_end = number is not None and passed >= len(self._sketch.points[number])
        return event.path == failing and at_the_end

    def is_fixed(self, one: Event, other: Event) -> bool:
        """Whether the sketch proves that `one` came before `other`.

        An event of the sketch is the last one that was passed: the mark comes just before it.
        Anything else is somewhere between that and the next one.
        """
        first, second = self._position(one), self._position(other)
        if first is None or second is None:
            return False
        (thread, after), (there, before) = first, second
        at = after - 1 if self.is_sketched(one) else after
        return self._sketch.is_before((thread, at), (there, before - 1))

    def is_sketched(self, event: Event) -> bool:
        """Whether it is itself an event of the sketch: the mark stands before it."""
        kind = bool(event.site) if not event.is_access else self._sketch.level == "access"
        return kind and event.at in self._marked

    def time_span(self, event: Event) -> TimeSpan:
        """Between which times of the record it happened."""
        position = self._position(event)
        if position is None:
            return TimeSpan(self._begin, self._end)
        thread, passed = position
        times = self._sketch.times[thread]
        begin = float(times[min(passed, len(times)) - 1]) if passed and len(times) else self._begin
        end = float(times[passed]) if passed < len(times) else self._end
        return TimeSpan(begin, begin if self.is_sketched(event) else end)

    def touches(self) -> Iterator[tuple[Event, int, bool]]:
        """Accesses, with every cell that they touch and whether they change it."""
        for event in self.timeline.events:
            if event.is_access:
                yield event, event.cell, event.writes
                for cell, writes in self._also.get(event.at, ()):
                    yield event, cell, writes

    def conflicts(self) -> Iterator[tuple[Event, Event]]:
        """Neighbouring accesses of one cell by different threads, one of them changing it."""
        wrote: dict[int, Event] = {}
        reads: dict[int, dict[str, Event]] = {}
        for event, cell, writes in self.touches():
            since = reads.setdefault(cell, {})
            earlier = [wrote[cell]] if cell in wrote else []
            if writes:
                earlier += since.values()
            yield from ((one, event) for one in earlier if one.path != event.path)
            if writes:
                wrote[cell] = event
                since.clear()
            else:
                since[event.path] = event

    def neighbours(self) -> Iterator[tuple[Event, Event]]:
        """Accesses of one cell that follow each other in one thread."""
        last: dict[tuple[str, int], Event] = {}
        for event, cell, _ in self.touches():
            key = (event.path, cell)
            if key in last:
                yield last[key], event
            last[key] = event

    def shape(self) -> int:
        """Equal for tries in which all conflicting accesses were in the same order."""
        by_cell: dict[int, list[tuple[str, int, int]]] = {}
        for event in self.timeline.events:
            by_cell.setdefault(event.cell, []).append(event.key)
        # Cells are addresses, which may differ from run to run.
        return hash(frozenset(tuple(keys) for keys in by_cell.values()))


FAR_ON = 1 << 60


Also = dict[int, list[tuple[int, bool]]]


def _parted(trace: npt.NDArray[np.void]) -> tuple[npt.NDArray[np.void], Also]:
    """The trace without the further cells of accesses; and these, by the number of the access."""
    points = trace["point"]
    extra = (points == ALSO_READ) | (points == ALSO_WROTE)
    numbers = np.cumsum(~extra & (points != MARK)) - 1
    also: Also = {}
    rows = trace[extra]
    for at, cell, point in zip(numbers[extra], rows["cell"].tolist(), rows["point"], strict=True):
        also.setdefault(int(at), []).append((cell, bool(point == ALSO_WROTE)))
    return trace[~extra], also


def _marked(trace: npt.NDArray[np.void], marks: npt.NDArray[np.bool_]) -> set[int]:
    """The events that follow at once on a mark of their own thread."""
    threads = trace["thread"]
    after = np.flatnonzero(~marks[1:] & marks[:-1] & (threads[1:] == threads[:-1])) + 1
    return set((np.cumsum(~marks)[after] - 1).tolist())


def _passed(trace: npt.NDArray[np.void], marks: npt.NDArray[np.bool_], threads: int) -> list[int]:
    now = [0] * threads
    found: list[int] = []
    rows = zip(trace["thread"].tolist(), trace["cell"].tolist(), marks.tolist(), strict=True)
    for thread, cell, is_mark in rows:
        if is_mark:
            now[thread] = cell
        else:
            found.append(now[thread])
    return found
