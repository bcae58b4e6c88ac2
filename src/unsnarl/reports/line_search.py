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
# So many ways to go on from a source to what came before it.
MOST_WAYS = 3


class CapturedEvent(NamedTuple):
    """One entry of a capture, its point by its campaign-wide index."""

    at: int
    path: str
    point: int
    capture: Capture


LineMatch = dict[int, CapturedEvent]  # by line


def _cell(event: CapturedEvent) -> tuple[int, str]:
    return event.capture.object, event.capture.element


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
        matches = (found for ends in self._ends_seen() for found in self._filled(ends))
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

    def _filled(self, ends: LineMatch) -> Iterator[LineMatch]:
        """The ends, and for the lines around them the nearest accesses in the right order.

        Before the source others may be the right ones: a thread reads one thing after the other,
        and only one of them is what the line before that has written.
        """
        first, last = self._ends[0], self._ends[-1]
        source, sink = ends[first].at, ends[last].at
        found = self._search.backwards(
            range(first + 1, last), sink, ends, partial=True, since=source
        )
        nearest = self._search.before(first - 1, source, found) if first else iter(())
        ways = [{**found, first - 1: one} for one in islice(nearest, MOST_WAYS)]
        for way in ways or [found]:
            bound = way[first - 1].at if ways else source
            rest = range(first - bool(ways))
            whole = self._search.backwards(rest, bound, way, partial=True)
            behind = range(last + 1, len(self._lines))
            yield self._search.forwards(behind, sink, whole, partial=True)

    def _quality(self, found: LineMatch) -> tuple[int, int, int, int]:
        about = [line for line in found if self._lines[line].same_cell >= SAME_CELL]
        return self._agreement(found), self._meetings(found), len(about), len(found)

    def _meetings(self, found: LineMatch) -> int:
        """How often a thread touches what another one has touched just before."""
        return sum(
            self._lines[line].anchor != self._lines[line + 1].anchor
            and _cell(found[line]) == _cell(found[line + 1])
            for line in found
            if line + 1 in found
        )

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
