# SPDX-License-Identifier: Apache-2.0
"""The code around the events of a run, as traced runs show it.

Lines, functions and calls around an access, the locks held there, and where a thread that is about
to do it comes to the gate: what a region needs to know to begin and to end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from unsnarl.model.event import OP_BITS, Event, EventKey, Op, op_of, site_of
from unsnarl.model.run import Frame
from unsnarl.placement.line_points import (
    NOWHERE,
    CodeRange,
    Points,
    SwitchPoints,
    done_points,
    is_lock_attempt,
)
from unsnarl.placement.locks import TakenLock, lock_names
from unsnarl.placement.timeline import Timeline
from unsnarl.runfile import Interner, RunFile

CodeLine = tuple[str, str, int]  # file, function, line
Function = tuple[str, str]
Stacks = Mapping[EventKey, tuple[Frame, ...]]
UNLISTED = "unlisted"  # a lock operation inside a call of a library (runfile/sites.py)


class Span(NamedTuple):
    """The innermost function in which both ends of a region lie, and its lines between them.

    The lines are all that were passed from the one to the other; those of the calls if the ends are
    in callees. A function that only calls others has no sites: its code is nowhere. A compiler may
    have put several functions into one code: `callees` are those that were passed on the way.
    """

    code: CodeRange
    file: str
    function: str
    first: int
    last: int
    callees: frozenset[Function] = frozenset()

    def is_own(self, line: CodeLine) -> bool:
        """Whether it is a line of the function itself."""
        return line[:2] == (self.file, self.function)


class CodeContext:
    """The events of one failing run, and of a few others that came to further lines.

    Args:
        traced: The failing run, then the others.
        counted: Runs without traces that know further ways to an access.

    Attributes:
        timeline: The events of the failing run.
    """

    def __init__(
        self, traced: Sequence[RunFile], counted: Iterable[RunFile], interner: Interner
    ) -> None:
        self._interner = interner
        self._lines: dict[int, CodeLine] = {}
        self._indexes: dict[int, int] = {}
        self._libraries: set[int] = set()
        for run in traced:
            self._name(run)
        self._timelines = [Timeline.of(run) for run in traced]
        self._own = [self._own_locks(timeline) for timeline in self._timelines]
        self.timeline = self._timelines[0]
        self._threads = _by_thread(self.timeline.done)
        self._switches = SwitchPoints(traced, traced, [*traced, *counted])

    def _name(self, run: RunFile) -> None:
        due = np.array([one.raw for one in run.due], dtype=np.uint32)
        raw = np.unique(np.concatenate([run.trace["point"], due]))
        for point, index in zip(
            raw.tolist(), self._interner.indexes(raw, run).tolist(), strict=True
        ):
            self._indexes[point] = index
            site = self._interner.point(index).site
            self._lines[point] = (site.file, site.function, site.line)
            if site.kind == UNLISTED:
                self._libraries.add(point)

    def _own_locks(self, timeline: Timeline) -> set[int]:
        """The locks that the program itself takes; those inside libraries are their own affair."""
        return {
            event.cell
            for event in timeline.events
            if event.op is Op.ACQUIRE and event.site and event.point not in self._libraries
        }

    @property
    def events(self) -> list[Event]:
        """What happened in the failing run."""
        return self.timeline.done

    def all_events(self) -> Iterator[Event]:
        """What happened in any of the runs."""
        return (event for timeline in self._timelines for event in timeline.done)

    def held(self, event: Event, run: int = 0) -> tuple[TakenLock, ...]:
        """The program's own locks that the thread held there, outermost first."""
        around = self._timelines[run].around(event)
        return tuple(TakenLock(one.cell, one.point) for one in around if one.cell in self._own[run])

    def line(self, point: int) -> CodeLine:
        """The source line of a point that was met."""
        return self._lines.get(point, ("?", "?", 0))

    def points_at(self, line: CodeLine) -> set[int]:
        """All points of a line that were met; none of a line that is not known."""
        return {point for point, other in self._lines.items() if other == line and line[2]}

    def line_points(self, index: int) -> Points:
        """What a trace shows of a line of an answer."""
        return done_points(index, self._interner, lambda raw: self.points_at(self.line(raw)))

    def copies(self, point: int) -> Points:
        """All points of the same source text: the compiler repeats conditions of loops."""
        index = self._indexes.get(point)
        found = () if index is None else self._interner.raw_points(index)
        return found or (point,)

    def code(self, point: int) -> CodeRange:
        """The function of a point."""
        return self._interner.range_of(point) if site_of(point) else NOWHERE

    def entries(self, points: Iterable[int], lifted: bool) -> Points:
        """Where a thread that is about to come to one of the points can be kept waiting.

        Lifted, it is at the outermost acquire around, wherever a run had a lock there.
        """
        points = {copy for point in points for copy in self.copies(point)}
        lifts: set[int] = set()
        free: set[int] = set()
        for run, timeline in enumerate(self._timelines):
            for event in timeline.at_points(points):
                if event.at < len(timeline.done):
                    held = self.held(event, run) if lifted else ()
                    (lifts if held else free).add(held[0].point if held else event.point)
        free = free or points - {0}
        return tuple(sorted((lifts - {0}).union(*map(self.stops_before, free))))

    def stops_before(self, point: int) -> set[int]:
        """Where a thread comes to the gate for the last time before it executes the point."""
        return {point} if is_lock_attempt(point) else self._switches.before(point)

    def line_run(self, event: Event) -> list[Event]:
        """The events of the same thread around this one that are on its line, without a break."""
        mine = self._threads[event.path]
        low = high = next(i for i, one in enumerate(mine) if one.at == event.at)
        line = self.line(event.point)
        while low > 0 and self.line(mine[low - 1].point) == line:
            low -= 1
        while high + 1 < len(mine) and self.line(mine[high + 1].point) == line:
            high += 1
        return mine[low : high + 1]

    def span(self, first: Event, last: Event, stacks: Stacks) -> Span | None:
        """The function that both events, of one thread, are in; None if that is not known."""
        span = next(iter(self.spans(first, last, stacks)), None)
        if span is None or span.code == NOWHERE:
            return span
        return self._filled(span, first, last)

    def spans(self, first: Event, last: Event, stacks: Stacks) -> list[Span]:
        """All functions that both events are in, the innermost first.

        Two calls on one line are taken for one: the innermost may be a function that was left and
        called again.
        """
        found = []
        pairs = zip(self._frames(first, stacks), self._frames(last, stacks), strict=False)
        for one, other in pairs:
            if (one.file, one.function) != (other.file, other.function):
                break
            code, file = self._named(one)
            lines = one.line, other.line
            found.append(Span(code, file, one.function, min(lines), max(lines)))
            if one.line != other.line:
                break
        return found[::-1]

    def _filled(self, span: Span, first: Event, last: Event) -> Span:
        """With what a thread passed from one of its events to another."""
        # Events are numbered by their position in the failing run, so times are indexes.
        between = self.events[first.at : last.at + 1]
        points = {event.point for event in between if event.path == first.path}
        passed = {self.line(point) for point in points if self.code(point) == span.code}
        lines = {line[2] for line in passed if span.is_own(line)} | {span.first, span.last}
        callees = frozenset(line[:2] for line in passed if not span.is_own(line))
        return span._replace(first=min(lines), last=max(lines), callees=callees)

    def whole(self, span: Span) -> Span:
        """All lines of its function."""
        met = (self.line(point) for point in self._lines if _is_in(point, span.code))
        lines = {line[2] for line in met if span.is_own(line)}
        return span._replace(
            first=min(lines, default=span.first), last=max(lines, default=span.last)
        )

    def _frames(self, event: Event, stacks: Stacks) -> tuple[Frame, ...]:
        """The calls that led to an event, outermost first.

        A capture has no stacks of lock operations: theirs is that of the nearest access of the same
        function, with their own line.
        """
        file, function, line = self.line(event.point)
        mine = self._threads[event.path]
        at = next(i for i, one in enumerate(mine) if one.at == event.at)
        for near in (event, *reversed(mine[:at]), *mine[at + 1 :]):
            if self._function(near.point) == self._function(event.point):
                found = stacks.get(near.key)
                if found:
                    inner = Frame(found[0].file, line, found[0].function)
                    return (*reversed(found[1:]), inner)
        return (Frame(file, line, function),)

    def _function(self, point: int) -> tuple[CodeRange, str, str]:
        file, function, _ = self.line(point)
        return self.code(point), file, function

    def _named(self, frame: Frame) -> tuple[CodeRange, str]:
        """The sites of a call's function, if a run met one of them, and its file below the root."""
        files = {file for file, _, line in self._lines.values() if line}
        file = next((file for file in sorted(files) if frame.file.endswith(file)), frame.file)
        for point, line in self._lines.items():
            if line[:2] == (file, frame.function):
                return self.code(point), file
        return NOWHERE, file

    def outside(self, span: Span, more: Collection[int] = ()) -> Points:
        """The points of the function that are on none of the span's lines, nor on some more."""
        lines = {*range(span.first, span.last + 1), *more}

        def is_inside(line: CodeLine) -> bool:
            return line[2] in lines if span.is_own(line) else line[:2] in span.callees

        points = (point for point in self._switches.met if _is_in(point, span.code))
        return tuple(sorted(point for point in points if not is_inside(self.line(point))))

    def lines_before(self, point: int, entries: Collection[int], span: Span) -> set[int]:
        """The lines of a function on the way from an entry to the point."""
        lines: set[int] = set()
        own = {at: line[2] for at, line in self._lines.items() if span.is_own(line)}
        for timeline in self._timelines:
            passed: dict[str, set[int]] = {}
            for event in timeline.at_points((*own, *entries, point)):
                if event.at >= len(timeline.done):
                    break
                at, mine = event.point, passed.setdefault(event.path, set())
                if at in entries:
                    mine.clear()
                if at in own:
                    mine.add(own[at])
                if at == point:
                    lines |= mine
        return lines

    def first_of(self, span: Span) -> int:
        """The first point of a function that any run met."""
        points = (point for point in self._switches.met if _is_in(point, span.code))
        return min((point for point in points if span.is_own(self.line(point))), default=0)

    def acquires(self, cell: int) -> Points:
        """Where a lock is taken, in any run: a lock has mostly the same cell in all."""
        taken = {
            event.point
            for event in self.all_events()
            if event.cell == cell and op_of(event.point) is Op.ACQUIRE and event.site
        }
        return tuple(sorted(taken))

    def touching(self, cells: Iterable[int]) -> set[int]:
        """The points at which threads that were started touched one of the cells."""
        cells = set(cells)
        return {event.point for event in self.events if event.cell in cells and event.path != "0"}

    def lock_names(self, capture: RunFile) -> dict[int, str]:
        """The program's own names of locks by their cells, from a capture of the failing run."""
        return lock_names(capture, {event.key: self.held(event) for event in self.events})


def is_called(span: Span, stack: Iterable[Frame]) -> bool:
    """Whether the function of a span is among the calls that led to an event."""
    return any(one.function == span.function and one.file.endswith(span.file) for one in stack)


def stacks_of(capture: RunFile) -> Stacks:
    """The stacks, innermost call first, with the functions that a compiler has put into others."""
    return {one.key: one.stack for one in capture.captures}


def _is_in(point: int, code: CodeRange) -> bool:
    return code[0] << OP_BITS <= point < code[1] << OP_BITS


def _by_thread(events: Iterable[Event]) -> dict[str, list[Event]]:
    threads: dict[str, list[Event]] = {}
    for event in events:
        threads.setdefault(event.path, []).append(event)
    return threads
