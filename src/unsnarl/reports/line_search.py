# SPDX-License-Identifier: Apache-2.0
"""Which accesses of a capture the lines of an answer stand for.

A point may be passed many times in one run. The lines of an answer are one occurrence, in order of
time: they stand for accesses in the same order, by the same threads, to the same object. A line for
which no such access is found has no value, which is better than one of another occurrence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from unsnarl.analyses.answer import Line
from unsnarl.model.event import Op, op_of
from unsnarl.placement.occurrence import EventSearch
from unsnarl.reports.names import SAME_CELL
from unsnarl.runfile.captures import Capture

# The latest occurrences of an edge are tried first, and there may be many.
MOST_SINKS = 50
MOST_SOURCES = 4


class CapturedEvent(NamedTuple):
    """One entry of a capture, its point by its campaign-wide index."""

    at: int
    path: str
    point: int
    capture: Capture


LineMatch = dict[int, CapturedEvent]  # by line


class LineSearch:
    """Finds the accesses of one run that the lines of one answer stand for."""

    def __init__(
        self, seen: Sequence[CapturedEvent], lines: Sequence[Line], threads: Mapping[int, str]
    ) -> None:
        self._lines = lines
        self._end_time = len(seen)
        self._ends = [at for at, line in enumerate(lines) if line.is_end]
        rows = [[one for one in seen if one.point == line.point] for line in lines]
        self._search = EventSearch(rows, [line.anchor for line in lines], threads, self._fits)

    def best(self) -> LineMatch:
        """The access of each line: the fullest match; of equal ones the latest."""
        matches = (self._filled(ends) for ends in self._ends_seen())
        return max(matches, key=self._quality, default={})

    def _ends_seen(self) -> Iterator[LineMatch]:
        """Accesses for source and sink, the latest first."""
        if not self._ends:
            return
        first, last = self._ends[0], self._ends[-1]
        for sink in islice(self._search.before(last, self._end_time, {}), MOST_SINKS):
            if first == last:
                yield {last: sink}
            sources = self._search.before(first, sink.at, {last: sink})
            for source in islice(sources, MOST_SOURCES):
                yield {first: source, last: sink}

    def _filled(self, ends: LineMatch) -> LineMatch:
        """The ends, and for the lines around them the nearest accesses in the right order."""
        first, last = self._ends[0], self._ends[-1]
        source, sink = ends[first].at, ends[last].at
        found = self._search.backwards(
            range(first + 1, last), sink, ends, partial=True, since=source
        )
        found = self._search.backwards(range(first), source, found, partial=True)
        return self._search.forwards(range(last + 1, len(self._lines)), sink, found, partial=True)

    def _quality(self, found: LineMatch) -> tuple[int, int, int]:
        about = [line for line in found if self._lines[line].same_cell >= SAME_CELL]
        return self._agreement(found), len(about), len(found)

    def _agreement(self, found: LineMatch) -> int:
        """How well the ends go together: the same object, element, and value handed over."""
        source, sink = (found[end].capture for end in (self._ends[0], self._ends[-1]))
        if source.object != sink.object:
            return 0
        ops = (op_of(source.point), op_of(sink.point))
        handed_over = ops == (Op.WRITE, Op.READ) and source.value == sink.value
        return 1 + (source.element == sink.element) + handed_over

    def _fits(self, line: int, event: CapturedEvent, found: Mapping[int, CapturedEvent]) -> bool:
        """Whether it is about the same cell as the ends, if the line is."""
        wanted, mine = self._lines[line], event.capture
        if wanted.is_end or wanted.same_cell < SAME_CELL:
            return True
        ends = [found[end].capture for end in self._ends if end in found]
        elements = {one.element for one in ends}
        # ends that do not share an element share the container's shape: so may any element
        same = mine.element in elements or not mine.element or "" in elements or len(elements) > 1
        return same and mine.object in {one.object for one in ends}
