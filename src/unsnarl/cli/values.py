# SPDX-License-Identifier: Apache-2.0
"""Which of the values of a replay belong to the lines of a finding.

A point may be passed many times in one run. The lines of a finding tell one story, in the order of
time: they stand for moments in the same order, of the same threads, on the same object. A line for
which no such moment is found has no value, which is better than one of another occurrence.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple

import msgspec
import numpy as np

from unsnarl.analyses.answer import Answer, Line
from unsnarl.model.run import Frame
from unsnarl.model.site import Op
from unsnarl.reports.facts import Captured, FailingRun
from unsnarl.reports.names import SAME_CELL
from unsnarl.runfile import Interner, RunFile

# The latest occurrences of an edge are tried first, and there may be many.
MOST_SINKS = 50
MOST_SOURCES = 4


class Noted(msgspec.Struct, frozen=True, array_like=True):
    """One entry of a `values` note (probes/python/capture.py)."""

    event: int
    point: int
    path: str
    value: str
    locks: tuple[str, ...] = ()
    variable: str = ""
    held: tuple[tuple[int, int], ...] = ()
    cell: tuple[int, str, int] = (0, "", 0)
    stack: tuple[Frame, ...] = ()


class Moment(NamedTuple):
    """One access of a replay, in the order in which they happened."""

    path: str
    point: int
    noted: Noted


def raw_points(findings: Sequence[Answer], index: int, interner: Interner) -> list[int]:
    """What to capture: the points of the findings that run `index` has."""
    shown = {line.point for finding in findings if index in finding.runs for line in finding.lines}
    return sorted({raw for point in shown for raw in interner.raw_points(point)})


def moments(replay: RunFile, interner: Interner) -> list[Moment]:
    """The accesses with values that a replay noted."""
    try:
        noted = msgspec.convert(replay.notes.values, type=list[Noted])
    except msgspec.ValidationError:
        return []  # values are an extra: a finding is told without them
    raw = np.array([value.point for value in noted], dtype=np.uint32)
    points = interner.indexes(raw, replay).tolist() if noted else []
    return [Moment(one.path, point, one) for one, point in zip(noted, points, strict=True)]


def assign(
    seen: Sequence[Moment], findings: Sequence[Answer], run: FailingRun, index: int
) -> dict[tuple[int, int], Captured]:
    """What was seen of the lines of the findings that run `index` has, by finding and line."""
    paths = {thread.index: thread.path for thread in run.threads}
    found: dict[tuple[int, int], Captured] = {}
    for place, finding in enumerate(findings):
        if index in finding.runs:
            anchors = finding.threads.get(index, {})
            known = {anchor: paths[at] for anchor, at in anchors.items() if at in paths}
            chosen = _Story(seen, finding.lines, known).best()
            noted = {at: seen[chosen[at]].noted for at in sorted(chosen)}
            about = [noted[at] for at in noted if finding.lines[at].same_cell >= SAME_CELL]
            names = lock_names(about, list(noted.values()))
            for line, one in noted.items():
                found[place, line] = captured(one, names)
    return found


def captured(noted: Noted, names: Mapping[int, str]) -> Captured:
    """What a report tells of a moment."""
    return Captured(
        value=noted.value or None,
        locks=tuple(names[lock] for _, lock in _locks(noted)),
        variable=noted.variable,
        sections=tuple(section for _, section in noted.held),
        element=noted.cell[1],
        owner=noted.cell[2],
        thread=noted.path,
        stack=noted.stack,
    )


def _locks(noted: Noted) -> list[tuple[str, int]]:
    """Names and numbers of the locks held."""
    return [(name, lock) for name, (lock, _) in zip(noted.locks, noted.held, strict=False)]


def lock_names(about: Sequence[Noted], noted: Sequence[Noted]) -> dict[int, str]:
    """The names of locks by their numbers.

    Namesakes are numbered but for the first: the one that is held most often around the finding's
    own cell.
    """
    often = Counter(lock for one in about for lock in _locks(one)).most_common()
    namesakes: dict[str, list[int]] = {}
    for name, lock in dict.fromkeys([pair for pair, _ in often] + list(chain(*map(_locks, noted)))):
        namesakes.setdefault(name, []).append(lock)
    return {
        lock: f"{name} #{at}" if at > 1 else name
        for name, locks in namesakes.items()
        for at, lock in enumerate(locks, 1)
    }


class _Story:
    """Moments for the lines of one answer."""

    def __init__(
        self, seen: Sequence[Moment], lines: Sequence[Line], paths: Mapping[int, str]
    ) -> None:
        self._seen = seen
        self._lines = lines
        self._paths = paths
        self._ends = [at for at, line in enumerate(lines) if line.is_end]
        wanted = {line.point for line in lines}
        self._places: dict[int, list[int]] = {point: [] for point in wanted}
        for at, moment in enumerate(seen):
            if moment.point in wanted:
                self._places[moment.point].append(at)

    def best(self) -> dict[int, int]:
        """Line by line the place of its moment: the fullest story; of equal ones the latest."""
        stories = (self._told(ends) for ends in self._occurrences())
        return max(stories, key=self._quality, default={})

    def _occurrences(self) -> Iterator[dict[int, int]]:
        """Moments for source and sink, the latest first."""
        if not self._ends:
            return
        first, last = self._ends[0], self._ends[-1]
        for sink in islice(self._before(last, len(self._seen), {}), MOST_SINKS):
            if first == last:
                yield {last: sink}
            for source in islice(self._before(first, sink, {last: sink}), MOST_SOURCES):
                yield {first: source, last: sink}

    def _told(self, ends: dict[int, int]) -> dict[int, int]:
        """The ends, and for the lines around them the nearest moments in the right order."""
        first, last = self._ends[0], self._ends[-1]
        chosen = dict(ends)
        bound = ends[last]
        for line in reversed(range(last)):
            if line == first:
                bound = ends[first]
                continue
            least = ends[first] if line > first else -1
            at = next(self._before(line, bound, chosen), -1)
            if at > least:
                chosen[line] = bound = at
        bound = ends[last]
        for line in range(last + 1, len(self._lines)):
            at = next(self._after(line, bound, chosen), -1)
            if at >= 0:
                chosen[line] = bound = at
        return chosen

    def _quality(self, chosen: Mapping[int, int]) -> tuple[int, int, int]:
        about = [line for line in chosen if self._lines[line].same_cell >= SAME_CELL]
        return self._agreement(chosen), len(about), len(chosen)

    def _agreement(self, chosen: Mapping[int, int]) -> int:
        """How well the ends go together: the same object, element, and value handed over."""
        source, sink = (self._seen[chosen[end]].noted for end in (self._ends[0], self._ends[-1]))
        if source.cell[0] != sink.cell[0]:
            return 0
        ops = (source.point & 15, sink.point & 15)
        handed_over = ops == (Op.WRITE, Op.READ) and source.value == sink.value
        return 1 + (source.cell[1] == sink.cell[1]) + handed_over

    def _before(self, line: int, bound: int, chosen: Mapping[int, int]) -> Iterator[int]:
        places = self._places[self._lines[line].point]
        for at in reversed(places[: bisect_left(places, bound)]):
            if self._fits(line, at, chosen):
                yield at

    def _after(self, line: int, bound: int, chosen: Mapping[int, int]) -> Iterator[int]:
        places = self._places[self._lines[line].point]
        for at in places[bisect_left(places, bound + 1) :]:
            if self._fits(line, at, chosen):
                yield at

    def _fits(self, line: int, at: int, chosen: Mapping[int, int]) -> bool:
        moment, wanted = self._seen[at], self._lines[line]
        if moment.path != self._path_of(wanted.anchor, chosen, moment.path):
            return False
        if wanted.is_end or wanted.same_cell < SAME_CELL:
            return True
        ends = [self._seen[chosen[end]].noted.cell for end in self._ends if end in chosen]
        elements = {element for _, element, _ in ends}
        thing, element, _ = moment.noted.cell
        # ends that do not share an element share the container's shape: so may any element
        same = element in elements or not element or "" in elements or len(elements) > 1
        return same and thing in {thing for thing, _, _ in ends}

    def _path_of(self, anchor: int, chosen: Mapping[int, int], path: str) -> str:
        """The thread of an anchor; one that is not known must be new, and stay the same."""
        if anchor in self._paths:
            return self._paths[anchor]
        for line, at in chosen.items():
            if self._lines[line].anchor == anchor:
                return self._seen[at].path
        return path if path not in self._paths.values() else ""
