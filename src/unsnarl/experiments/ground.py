# SPDX-License-Identifier: Apache-2.0
"""What traced runs know of the ground on which a region can stand.

Lines, functions and calls around an access, the locks held there, and where a thread that is about
to do it comes to the gate.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from unsnarl.experiments.constraints import Timeline
from unsnarl.experiments.scene import Points
from unsnarl.model.run import Frame
from unsnarl.model.site import Op
from unsnarl.runfile import Interner, RunFile

Place = tuple[str, str, int]  # file, function, line
Function = tuple[str, str]
Codes = tuple[int, int]  # the site ids of a function: the first one, and the first one after it
Stacks = Mapping[tuple[str, int, int], tuple[Frame, ...]]  # by thread, point and occurrence
NOWHERE = (0, 0)
UNLISTED = "unlisted"  # a lock operation inside a call of a library (runfile/sites.py)


class Step(NamedTuple):
    """One event of a traced run; `held` are cells and acquires of its locks, outermost first."""

    at: int
    path: str
    point: int
    occurrence: int
    cell: int
    held: tuple[tuple[int, int], ...]

    @property
    def outermost(self) -> int:
        """The point of the outermost acquire around it; 0 if no lock is held."""
        return self.held[0][1] if self.held else 0


class Span(NamedTuple):
    """The innermost function in which both ends of a region lie, and its lines between them.

    The lines are all that were passed from the one to the other; those of the calls if the ends are
    in callees. A function that only calls others has no sites: its code is nowhere. A compiler may
    have put several functions into one code: `callees` are those that were passed on the way.
    """

    code: Codes
    file: str
    function: str
    first: int
    last: int
    callees: frozenset[Function] = frozenset()

    def is_own(self, place: Place) -> bool:
        """Whether it is a line of the function itself."""
        return place[:2] == (self.file, self.function)


class Ground:
    """The steps of one failing run, first of all, and of a few others."""

    def __init__(
        self, traced: Sequence[RunFile], counted: Iterable[RunFile], interner: Interner
    ) -> None:
        self._interner = interner
        self._places: dict[int, Place] = {}
        self._indexes: dict[int, int] = {}
        self._libraries: set[int] = set()
        for run in traced:
            self._name(run)
        self.runs = [steps_of(run, self._libraries) for run in traced]
        self.steps = self.runs[0]
        self._threads = [_by_thread(steps) for steps in self.runs]
        self._heads = _heads([*traced, *counted])
        # a sleep is in no trace, but in schedules
        slept = {segment.point for run in traced for segment in run.schedule}
        self._points = {step.point for steps in self.runs for step in steps} | slept

    def _name(self, run: RunFile) -> None:
        raw = np.unique(run.trace["point"])
        for point, index in zip(
            raw.tolist(), self._interner.indexes(raw, run).tolist(), strict=True
        ):
            self._indexes[point] = index
            site = self._interner.point(index).site
            self._places[point] = (site.file, site.function, site.line)
            if site.kind == UNLISTED:
                self._libraries.add(point)

    def place(self, point: int) -> Place:
        """The source line of a point that was met."""
        return self._places.get(point, ("?", "?", 0))

    def points_at(self, place: Place) -> set[int]:
        """All points of a line that were met; none of a line that is not known."""
        return {point for point, other in self._places.items() if other == place and place[2]}

    def copies(self, point: int) -> Points:
        """All points of the same source text: the compiler repeats conditions of loops."""
        index = self._indexes.get(point)
        found = () if index is None else self._interner.raw_points(index)
        return found or (point,)

    def code(self, point: int) -> Codes:
        """The function of a point."""
        return self._interner.range_of(point) if point >> 4 else NOWHERE

    def entries(self, points: Iterable[int], lifted: bool) -> Points:
        """Where a thread that is about to come to one of the points can be kept waiting.

        Lifted, it is at the outermost acquire around, wherever a run had a lock there.
        """
        points = {copy for point in points for copy in self.copies(point)}
        steps = [step for run in self.runs for step in run if step.point in points]
        lifts = {step.outermost for step in steps if lifted} - {0}
        free = {step.point for step in steps if not (lifted and step.held)} or (points - {0})
        return tuple(sorted(lifts.union(*(self.heads(point) for point in free))))

    def heads(self, point: int) -> set[int]:
        """Where a thread comes to the gate for the last time before it executes the point."""
        if point & 15 in (Op.ACQUIRE, Op.WAIT):
            return {point}
        sites = self._heads.get(point >> 4, set())
        found = {other for other in self._points if other >> 4 in sites}
        return found or {point}

    def line_run(self, step: Step) -> list[Step]:
        """The steps of the same thread around this one that are on its line, without a break."""
        mine = self._threads[0][step.path]
        low = high = next(i for i, one in enumerate(mine) if one.at == step.at)
        place = self.place(step.point)
        while low > 0 and self.place(mine[low - 1].point) == place:
            low -= 1
        while high + 1 < len(mine) and self.place(mine[high + 1].point) == place:
            high += 1
        return mine[low : high + 1]

    def span(self, first: Step, last: Step, stacks: Stacks) -> Span | None:
        """Where both steps, of one thread, are in; None if that is not known."""
        outer = None
        pairs = zip(self._frames(first, stacks), self._frames(last, stacks), strict=False)
        for one, other in pairs:
            if (one.file, one.function) != (other.file, other.function):
                break
            outer = (one, other)
            if one.line != other.line:
                break
        if outer is None:
            return None
        code, file = self._named(outer[0])
        lines = [frame.line for frame in outer]
        span = Span(code, file, outer[0].function, min(lines), max(lines))
        return span if code == NOWHERE else self._filled(span, first, last)

    def _filled(self, span: Span, first: Step, last: Step) -> Span:
        """With what a thread passed from one of its steps to another."""
        between = self.steps[first.at : last.at + 1]
        points = {step.point for step in between if step.path == first.path}
        places = {self.place(point) for point in points if self.code(point) == span.code}
        lines = {place[2] for place in places if span.is_own(place)} | {span.first, span.last}
        callees = frozenset(place[:2] for place in places if not span.is_own(place))
        return span._replace(first=min(lines), last=max(lines), callees=callees)

    def whole(self, span: Span) -> Span:
        """All lines of its function."""
        places = (self.place(point) for point in self._places if _is_in(point, span.code))
        lines = {place[2] for place in places if span.is_own(place)}
        return span._replace(
            first=min(lines, default=span.first), last=max(lines, default=span.last)
        )

    def _frames(self, step: Step, stacks: Stacks) -> tuple[Frame, ...]:
        """The calls that led to a step, outermost first; of a lock operation, that of its line."""
        mine = self._threads[0][step.path]
        at = next(i for i, one in enumerate(mine) if one.at == step.at)
        for near in (step, *reversed(mine[:at]), *mine[at + 1 :]):
            if self._function(near.point) == self._function(step.point):
                found = stacks.get((near.path, near.point, near.occurrence))
                if found:
                    file, function, line = (
                        found[0].file,
                        found[0].function,
                        self.place(step.point)[2],
                    )
                    return (*reversed(found[1:]), Frame(file, line, function))
        file, function, line = self.place(step.point)
        return (Frame(file, line, function),)

    def _function(self, point: int) -> tuple[Codes, str, str]:
        file, function, _ = self.place(point)
        return self.code(point), file, function

    def _named(self, frame: Frame) -> tuple[Codes, str]:
        """The sites of a call's function, if a run met one of them, and its file below the root."""
        files = {file for file, _, line in self._places.values() if line}
        file = next((file for file in sorted(files) if frame.file.endswith(file)), frame.file)
        for point, place in self._places.items():
            if place[:2] == (file, frame.function):
                return self.code(point), file
        return NOWHERE, file

    def outside(self, span: Span, more: Collection[int] = ()) -> Points:
        """The points of the function that are on none of the span's lines, nor on some more."""
        lines = {*range(span.first, span.last + 1), *more}

        def is_inside(place: Place) -> bool:
            return place[2] in lines if span.is_own(place) else place[:2] in span.callees

        points = (point for point in self._points if _is_in(point, span.code))
        return tuple(sorted(point for point in points if not is_inside(self.place(point))))

    def lines_before(self, point: int, entries: Collection[int], span: Span) -> set[int]:
        """The lines of a function on the way from an entry to the point."""
        lines: set[int] = set()
        for threads in self._threads:
            for mine in threads.values():
                passed: set[int] = set()
                for step in mine:
                    passed = set() if step.point in entries else passed
                    if span.is_own(self.place(step.point)):
                        passed.add(self.place(step.point)[2])
                    if step.point == point:
                        lines |= passed
        return lines

    def first_of(self, span: Span) -> int:
        """The first point of a function that any run met."""
        points = (point for point in self._points if _is_in(point, span.code))
        return min((point for point in points if span.is_own(self.place(point))), default=0)

    def acquires(self, cell: int) -> Points:
        """Where a lock is taken, in any run: a lock has mostly the same cell in all."""
        taken = {
            step.point
            for run in self.runs
            for step in run
            if step.cell == cell and step.point & 15 == Op.ACQUIRE and step.point >> 4
        }
        return tuple(sorted(taken))

    def touching(self, cells: Iterable[int]) -> set[int]:
        """The points at which threads that were started touched one of the cells."""
        cells = set(cells)
        return {step.point for step in self.steps if step.cell in cells and step.path != "0"}


def _is_in(point: int, code: Codes) -> bool:
    return code[0] << 4 <= point < code[1] << 4


def steps_of(run: RunFile, libraries: Collection[int] = ()) -> list[Step]:
    """The events of a traced run with the locks of the program's own that their threads held.

    `libraries` are points inside of which libraries take locks: those are nobody's business.
    """
    timeline = Timeline(run)
    own = {
        event.cell
        for event in timeline.events
        if event.op is Op.ACQUIRE and event.site and event.point not in libraries
    }
    return [
        Step(
            event.at,
            event.path,
            event.point,
            event.occurrence,
            event.cell,
            tuple((lock.cell, lock.point) for lock in timeline.around(event) if lock.cell in own),
        )
        for event in timeline.events[: len(run.trace)]
    ]


def _by_thread(steps: Iterable[Step]) -> dict[str, list[Step]]:
    threads: dict[str, list[Step]] = {}
    for step in steps:
        threads.setdefault(step.path, []).append(step)
    return threads


def _heads(runs: Iterable[RunFile]) -> dict[int, set[int]]:
    heads: dict[int, set[int]] = {}
    for run in runs:
        for site, head in np.unique(run.counts[["site", "head"]]).tolist():
            heads.setdefault(site, set()).add(head)
    return heads
