# SPDX-License-Identifier: Apache-2.0
"""Where the lines of an answer occur in a run: one event for each, in order, each role a thread.

A line may have been executed many times, so there are many ways to choose. All searches here, and
those of debug stops (replay/debug_stops.py) and captured values (reports), are one: `EventSearch`
goes from line to line, each time to the nearest event that the line's thread did. What differs is
explicit:

    which way          from an end back, each line as late as possible: near the failure;
                       or from a beginning on, each as early as possible
    threads            given by role, some of them, or none: a role without one takes a new thread
    a line that has    ends the search, or is left out
    no such event
    what a line fits   its points, and whatever else the caller asks (the same cell)
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise, permutations
from types import MappingProxyType
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from unsnarl.analyses.answer import Line
from unsnarl.model.constraint import Constraint
from unsnarl.model.event import Event, Op, op_of
from unsnarl.model.plan import Rule
from unsnarl.model.run import Wait, in_cycle
from unsnarl.placement.code_context import CodeContext, Stacks
from unsnarl.placement.line_points import LinePoints, Points
from unsnarl.placement.locks import TakenLock
from unsnarl.placement.timeline import Timeline
from unsnarl.runfile import RunFile

Occurrence = tuple[Event, ...]

# In a loop an answer may occur hundreds of times; the latest are nearest to the failure.
MOST_OCCURRENCES = 12
MOST_ENDS = 50


class Timed(Protocol):
    """Something that a thread did at some time of a run."""

    @property
    def at(self) -> int:
        """When: larger is later."""

    @property
    def path(self) -> str:
        """By which thread."""


T = TypeVar("T", bound=Timed)


class EventSearch(Generic[T]):
    """Looks for the events of some lines.

    Args:
        rows: By line: the events that it may be, in order of time.
        roles: By line: its role. Lines of one role are of one thread, those of two are not.
        threads: The threads of roles, as far as they are given.
        fits: A further condition on an event of a line, by what was found for others so far.
    """

    def __init__(
        self,
        rows: Sequence[Sequence[T]],
        roles: Sequence[int],
        threads: Mapping[int, str] = MappingProxyType({}),
        fits: Callable[[int, T, Mapping[int, T]], bool] | None = None,
    ) -> None:
        self._rows = rows
        self._roles = roles
        self._threads = threads
        self._fits = fits

    def before(self, line: int, bound: int, found: Mapping[int, T]) -> Iterator[T]:
        """The events that a line may be before a time, the latest first."""
        row = self._rows[line]
        end = bisect_left(row, bound, key=_time)
        return self._possible(line, (row[at] for at in range(end - 1, -1, -1)), found)

    def after(self, line: int, bound: int, found: Mapping[int, T]) -> Iterator[T]:
        """The events that a line may be after a time, the earliest first."""
        row = self._rows[line]
        begin = bisect_right(row, bound, key=_time)
        return self._possible(line, (row[at] for at in range(begin, len(row))), found)

    def _possible(self, line: int, events: Iterable[T], found: Mapping[int, T]) -> Iterator[T]:
        cast = {**self._threads, **{self._roles[at]: one.path for at, one in found.items()}}
        wanted = cast.get(self._roles[line])
        taken = set(cast.values())
        for event in events:
            is_free = event.path not in taken if wanted is None else event.path == wanted
            if is_free and (self._fits is None or self._fits(line, event, found)):
                yield event

    def backwards(
        self,
        lines: Sequence[int],
        bound: int,
        found: Mapping[int, T],
        *,
        partial: bool,
        since: int = -1,
    ) -> dict[int, T]:
        """With these lines, from the last one back, each as late as possible but after `since`.

        A line that is nowhere ends it; if `partial`, it is left out.
        """
        found = dict(found)
        for line in reversed(lines):
            event = next(self.before(line, bound, found), None)
            if event is not None and event.at > since:
                found[line] = event
                bound = event.at
            elif not partial:
                break
        return found

    def forwards(
        self, lines: Sequence[int], bound: int, found: Mapping[int, T], *, partial: bool
    ) -> dict[int, T]:
        """With these lines, from the first one on, each as early as possible."""
        found = dict(found)
        for line in lines:
            event = next(self.after(line, bound, found), None)
            if event is not None:
                found[line] = event
                bound = event.at
            elif not partial:
                break
        return found


def _time(event: Timed) -> int:
    return event.at


def casts(roles: Iterable[int], paths: Iterable[str]) -> Iterator[dict[int, str]]:
    """All ways to give each role a thread of its own."""
    roles = list(dict.fromkeys(roles))
    for chosen in permutations(sorted(paths), len(roles)):
        yield dict(zip(roles, chosen, strict=True))


# Occurrences of a whole answer, for experiments.


def occurrences(timeline: Timeline, lines: Sequence[LinePoints]) -> list[Occurrence]:
    """Where the lines occur in their order, in whatever threads; the latest first.

    Of those that begin with the same event only the shortest. What a library does inside a call
    stands for the call.
    """
    if not lines:
        return []
    rows = [_row(timeline, line, meant=True) for line in lines]
    paths = {event.path for row in rows for event in row}
    found = [one for cast in casts(_roles(lines), paths) for one in _of_cast(rows, lines, cast)]
    return sorted(found, key=lambda one: one[-1].at, reverse=True)[:MOST_OCCURRENCES]


def _of_cast(
    rows: Sequence[Sequence[Event]], lines: Sequence[LinePoints], cast: Mapping[int, str]
) -> Iterable[Occurrence]:
    own = [
        [event for event in row if event.path == cast[line.role]]
        for row, line in zip(rows, lines, strict=True)
    ]
    search = EventSearch(own, _roles(lines), cast)
    last = len(lines) - 1
    shortest: dict[int, Occurrence] = {}
    for end in own[last]:
        found = search.backwards(range(last), end.at, {last: end}, partial=False)
        if len(found) == len(lines):
            # Ends come in order of time: the first to lead back to a beginning is the shortest.
            shortest.setdefault(found[0].at, tuple(found[at] for at in range(len(lines))))
    return shortest.values()


def latest_occurrence(timeline: Timeline, lines: Sequence[LinePoints]) -> list[Event]:
    """The occurrence whose first event is the latest; if none is whole, the most of its beginning.

    Its events are those of the trace, because rules for the gate are made of them: a call is where
    its thread made it, not where the library did its work.
    """
    rows = [_row(timeline, line) for line in lines]
    search = EventSearch(rows, _roles(lines))
    rest = range(1, len(lines))
    best: dict[int, Event] = {}
    for first in search.before(0, len(timeline.events), {}):
        found = search.forwards(rest, first.at, {0: first}, partial=False)
        best = max(best, found, key=len)
        if len(best) == len(lines):
            break
    return list(best.values())


def _row(timeline: Timeline, line: LinePoints, *, meant: bool = False) -> Sequence[Event]:
    """The events that a line may be; of a wait, the one that was not granted, if there is one."""
    row = timeline.at_points(line.points, meant=meant)
    if not line.waits:
        return row
    return [event for event in row if event.at >= len(timeline.done)] or row


def _roles(lines: Sequence[LinePoints]) -> list[int]:
    return [line.role for line in lines]


def switches(events: Sequence[Event]) -> Iterator[tuple[Event, Event]]:
    """Neighbours of different threads; the order within a thread goes without saying."""
    return ((one, other) for one, other in pairwise(events) if one.path != other.path)


def order_constraints(timeline: Timeline, lines: Sequence[LinePoints]) -> list[Constraint]:
    """The order of the answer's events wherever the thread changes."""
    return list(timeline.constraints(switches(latest_occurrence(timeline, lines))))


def is_implied(one: Event, other: Event, constraints: Sequence[Constraint]) -> bool:
    """Whether the constraints and the threads' own order put the one event before the other."""
    after = {one.path: one.at}
    # To a fixed point: constraints may be listed in any order, and chain over several threads.
    grows = True
    while grows:
        grows = False
        for order in constraints:
            reached = after.get(order.before.path)
            # Its thread waits there already, so all that it does from there on is later, too.
            hold = order.hold
            if reached is not None and reached <= order.before.at:
                grows |= hold.at < after.get(hold.path, hold.at + 1)
                after[hold.path] = min(hold.at, after.get(hold.path, hold.at))
    return other.path in after and after[other.path] <= other.at


def are_implied(events: Sequence[Event], constraints: Sequence[Constraint]) -> bool:
    """Whether the events come in this order wherever the constraints are kept."""
    return all(is_implied(one, other, constraints) for one, other in switches(events))


# Placements: occurrences with the locks and code around them, for fixes.


class PlacedLine(NamedTuple):
    """A line of an answer and its event: the thread's role, all raw points of the line, locks."""

    event: Event
    role: int
    points: Points
    held: tuple[TakenLock, ...] = ()


@dataclass(frozen=True)
class Placement:
    """Where an answer lies in one failing run.

    Attributes:
        lines: In order of time.
        is_whole: Whether every line of the answer has its event.
        cycle: Who waited for whom, if the run ended in a deadlock.
        forcing: Rules that bring the events about in this order, in these threads.
        is_blocked: Whether a thread with a lock that others want waited for something else.
        stacks: The calls that led to events, as far as they are known.
        lock_names: The program's own names of locks, by their cells.
    """

    context: CodeContext
    lines: tuple[PlacedLine, ...]
    is_whole: bool = True
    cycle: tuple[Wait, ...] = ()
    forcing: tuple[Rule, ...] = ()
    is_blocked: bool = False
    stacks: Stacks = field(default_factory=dict)
    lock_names: Mapping[int, str] = field(default_factory=dict)

    @property
    def quality(self) -> int:
        """How much of the answer was found; a wait cycle needs no lines."""
        return len(self.cycle) + _quality(self.lines)

    @property
    def returning(self) -> int | None:
        """The role that comes back after another one's event; None if it is an order of two."""
        for role in dict.fromkeys(line.role for line in self.lines):
            mine = [at for at, line in enumerate(self.lines) if line.role == role]
            if mine[-1] - mine[0] >= len(mine):
                return role
        return None

    def of(self, role: int) -> list[PlacedLine]:
        """The lines of one role."""
        return [line for line in self.lines if line.role == role]

    @property
    def roles(self) -> list[int]:
        """All roles, the one that comes back first."""
        found = dict.fromkeys(line.role for line in self.lines)
        return sorted(found, key=lambda role: role != self.returning)

    @property
    def lock(self) -> int | None:
        """The lock that should have been held: one that the others hold, and all if possible."""
        others = [line for line in self.lines if line.role != self.returning]
        held = [{lock.cell for lock in line.held} for line in others]
        common = set.intersection(*held) if held else set()
        mine = [lock.cell for line in self.lines for lock in line.held]
        return max(sorted(common), key=mine.count, default=None)


def find_placement(
    lines: Sequence[Line], threads: Mapping[int, str], context: CodeContext, run: RunFile
) -> Placement:
    """Finds the lines of an answer in a run, the first one of the context.

    As much of it as possible, and of equal ones the tightest: a loop's other turns are no part of
    it.

    Args:
        threads: By anchor, as far as they are known: the threads that the ranking saw.
    """
    points = [context.line_points(line.point) for line in lines]
    rows = [[event for event in context.events if event.point in own] for own in points]
    search = EventSearch(rows, [line.anchor for line in lines], threads)
    ends = search.before(len(lines) - 1, len(context.events), {}) if lines else iter(())
    partial = (
        search.backwards(range(len(lines) - 1), end.at, {len(lines) - 1: end}, partial=True)
        for end in islice(ends, MOST_ENDS)
    )
    best = max(partial, key=_fullest_and_tightest(lines), default={})
    placed = tuple(
        PlacedLine(best[at], lines[at].role, points[at], context.held(best[at]))
        for at in sorted(best)
    )
    turns = switches([line.event for line in placed])
    forcing = tuple(constraint.rule for constraint in context.timeline.constraints(turns))
    return Placement(
        context,
        placed,
        is_whole=len(placed) == len(lines),
        cycle=in_cycle(run.stuck_waits),
        forcing=forcing,
        is_blocked=_waits_with_lock(run.stuck_waits),
    )


def _waits_with_lock(waits: Sequence[Wait]) -> bool:
    elsewhere = {wait.thread for wait in waits if wait.owner < 0}
    elsewhere |= {wait.thread for wait in in_cycle(waits) if op_of(wait.point) is Op.JOIN}
    return any(wait.owner in elsewhere and op_of(wait.point) is Op.WAIT for wait in waits)


def _fullest_and_tightest(
    lines: Sequence[Line],
) -> Callable[[Mapping[int, Event]], tuple[int, int]]:
    def key(found: Mapping[int, Event]) -> tuple[int, int]:
        times = [event.at for event in found.values()]
        roles = {lines[at].role for at in found}
        return (len(found) if len(roles) > 1 else 0), min(times) - max(times)

    return key


def _quality(lines: Sequence[PlacedLine]) -> int:
    """How many lines were found: none counts without a second thread."""
    return len(lines) if len({line.role for line in lines}) > 1 else 0


def early_thread(run: RunFile, lines: Sequence[LinePoints]) -> str:
    """The thread of the first of two accesses, by what a run without a trace has kept; else ""."""
    first, other = (np.array(line.points, dtype=np.uint32) for line in (lines[0], lines[-1]))
    for table in (run.pairs, run.patterns):
        fits = np.isin(table["first_point"], first) & np.isin(table["other_point"], other)
        found = table[fits & (table["last_point"] == 0)]
        if len(found):
            return run.threads[int(found[-1]["first_thread"])].path
    return ""
