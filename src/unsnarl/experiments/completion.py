# SPDX-License-Identifier: Apache-2.0
"""A finding completed: with the accesses of one failing run that close its conflict.

See docs/adr/0046. They are facts of the run that is shown, and no part of what was ranked or
tested: an answer keeps its lines, a proof its orders.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from pathlib import Path

import numpy as np

from unsnarl.analyses.answer import Answer, Line
from unsnarl.experiments.refine import accesses
from unsnarl.model.constraint import Constraint
from unsnarl.model.event import Event, Op
from unsnarl.model.run import Caught, Failure, Frame, is_iterated
from unsnarl.model.site import Site
from unsnarl.model.sources import Sources
from unsnarl.placement.closing import closing
from unsnarl.placement.occurrence import EventSearch
from unsnarl.placement.signals import missed_signal, who_left
from unsnarl.placement.timeline import EventTimes, Timeline
from unsnarl.placement.traced import TracedRun
from unsnarl.runfile import Interner, RunFile

# Ends of an answer in a run that are tried, the latest first.
MOST_ENDS = 20


class Completion:
    """What one traced failing run adds to findings."""

    def __init__(self, run: RunFile, interner: Interner, timeline: Timeline | None = None) -> None:
        self._run = run
        self._timeline = timeline or Timeline(run)
        self._accesses = accesses(self._timeline)
        raw = np.unique(np.array([e.point for e in self._timeline.events], dtype=np.uint32))
        # Not by raw points: those of code that was loaded late mean this run only.
        self._indexes = dict(zip(raw.tolist(), interner.indexes(raw, run).tolist(), strict=True))
        self._interner = interner
        self._sources = Sources(Path())

    def _site(self, event: Event) -> Site:
        return self._interner.point(self._indexes[event.point]).site

    def _text(self, site: Site) -> str:
        return self._sources.line(site.file, site.line)

    def events(self, shown: Sequence[Event]) -> list[Event]:
        """What to add to these events of the run."""
        if self._timeline.pending:
            # A deadlock is its waits: nothing closes it but a signal that one of them missed.
            return self._missed(shown)
        have = [event for event in shown if event.point in self._indexes]
        locks = [event for event in self._timeline.done if event.op in (Op.ACQUIRE, Op.RELEASE)]
        run = TracedRun(
            self._accesses,
            self._site,
            self._text,
            self._timeline.around,
            self._failing(),
            locks,
            self._is_iterated(),
        )
        return closing(run, have)

    def _missed(self, shown: Sequence[Event]) -> list[Event]:
        """Signals that came too early for the waits, on lines that are not shown yet."""
        lines = {(event.path, self._site(event).line) for event in shown}
        found = {
            event
            for wait in self._timeline.pending
            for why in (missed_signal, who_left)
            for event in why(self._timeline.done, self._site, self._text, wait)
        }
        return sorted(one for one in found if (one.path, self._site(one).line) not in lines)

    def _failing(self) -> Event | None:
        """The access with which it failed: the last one of the thread that was on that line.

        A future hands its exception to a thread that never was there.
        """
        due = {event.key for event in self._timeline.due}
        happened = [event for event in self._accesses if event.key not in due]
        mine = [event for event in happened if event.path == self._run.failing_thread]
        frame = self._failing_frame()
        there = [event for event in happened if frame and self._is_at(event, frame)]
        if there and not any(event.path == self._run.failing_thread for event in there):
            return there[-1]
        return mine[-1] if mine else None

    def _failing_frame(self) -> Frame | None:
        """Where it failed, first of all with an exception that the program swallowed."""
        return next((one.frames[-1] for one in self._raised() if one.frames), None)

    def _raised(self) -> tuple[Caught | Failure, ...]:
        """What it failed with: first of all what the program swallowed."""
        swallowed = [one for one in self._run.caught if one.kind == self._run.failing_point]
        return (*swallowed, *self._run.failures[:1])

    def _is_iterated(self) -> bool:
        """Whether the interpreter says that something changed while it was gone through."""
        return any(is_iterated(one.message) for one in self._raised()[:1])

    def _is_at(self, event: Event, frame: Frame) -> bool:
        site = self._site(event)
        return site.line == frame.line and frame.file.endswith(site.file)

    def lines(self, answer: Answer, at: int) -> tuple[Line, ...]:
        """The lines to show with an answer that failing run `at` has."""
        search = self._stuck_occurrence if answer.is_stuck else self._occurrence
        occurrence = search(answer, at)
        added = self.events(list(occurrence.values()))
        times = sorted((event.at, answer.lines[line].time) for line, event in occurrence.items())
        anchors = {event.path: answer.lines[line] for line, event in occurrence.items()}
        about = {event.cell: answer.lines[line].same_cell for line, event in occurrence.items()}
        return tuple(
            Line(
                point=self._indexes[event.point],
                region="body",
                role=anchors[event.path].role,
                confidence=1.0,
                time=_between(times, event.at, len(self._timeline.events)),
                separation=1.0,
                same_cell=about.get(event.cell, 0.0),
                anchor=anchors[event.path].anchor,
            )
            for event in added
            if event.path in anchors
        )

    def _stuck_occurrence(self, answer: Answer, at: int) -> dict[int, Event]:
        """By line the last event of its thread there; a wait is the one that did not end."""
        paths = {thread.index: thread.path for thread in self._run.threads}
        threads = {anchor: paths.get(one) for anchor, one in answer.threads.get(at, {}).items()}
        found = {}
        for number, line in enumerate(answer.lines):
            is_wait = self._interner.point(line.point).op in (Op.WAIT, Op.JOIN)
            events = self._timeline.pending if is_wait else self._timeline.done
            for event in events:
                is_there = is_wait or self._indexes[event.point] == line.point
                if event.path == threads.get(line.anchor) and is_there:
                    found[number] = event
        return found

    def _occurrence(self, answer: Answer, at: int) -> dict[int, Event]:
        """The fullest occurrence of the answer's lines, by line; of equal ones the latest."""
        paths = {thread.index: thread.path for thread in self._run.threads}
        anchors = answer.threads.get(at, {})
        threads = {anchor: paths[one] for anchor, one in anchors.items() if one in paths}
        rows = [
            [one for one in self._accesses if self._indexes[one.point] == line.point]
            for line in answer.lines
        ]
        search = EventSearch(rows, [line.anchor for line in answer.lines], threads)
        last = len(answer.lines) - 1
        ends = search.before(last, len(self._timeline.events), {})
        found = (
            search.backwards(range(last), end.at, {last: end}, partial=True)
            for end in islice(ends, MOST_ENDS)
        )
        return max(found, key=_fullness, default={})


def same_course(runs: Iterable[RunFile], events: Sequence[Event]) -> tuple[int, int]:
    """In how many of the runs who touched a cell after whom as it is shown, and of how many.

    Completed orders are not enforced: whether they belong to the failure shows in the runs in which
    the proved ones were. Calls of libraries are left out: they happen later than they are made.
    """
    data = sorted(event for event in events if event.op in (Op.READ, Op.WRITE))
    pairs = [
        Constraint(one, other, other)
        for one, other in _neighbours(data)
        if one.path != other.path and (one.writes or other.writes)
    ]
    times = [EventTimes(run, pairs) for run in runs] if pairs else []
    same = [all(one.has(pair) and not one.breaks(pair) for pair in pairs) for one in times]
    return sum(same), len(same)


def _neighbours(data: Sequence[Event]) -> Iterator[tuple[Event, Event]]:
    """Accesses of one cell, one after the other."""
    by_cell: dict[int, list[Event]] = defaultdict(list)
    for event in data:
        by_cell[event.cell].append(event)
    for own in by_cell.values():
        yield from pairwise(own)


def _fullness(found: Mapping[int, Event]) -> int:
    return len(found)


def _between(times: Sequence[tuple[int, float]], at: int, end: int) -> float:
    """The time of a line that comes between those of the answer, in the answer's own time."""
    before = [time for when, time in times if when < at]
    after = [time for when, time in times if when > at]
    low = max(before, default=min(after, default=0.0) - 1.0)
    high = min(after, default=low + 1.0)
    # Several of one gap keep their order.
    return low + (high - low) * (at + 1) / (end + 2)
