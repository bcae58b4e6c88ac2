# SPDX-License-Identifier: Apache-2.0
"""Which orders of a failing run may matter, and how much each of them costs in an explanation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from unsnarl.model.constraint import Constraint
from unsnarl.model.event import Event, Op
from unsnarl.placement.line_points import LinePoints
from unsnarl.placement.timeline import Timeline

Pair = tuple[Event, Event]

# What a constraint costs: few are wanted, but two that the answer names are better than one that
# only says which thread ran when.
NAMED = 0.5
CONFLICT = 1.0
END = 1.3
HAND_OFF = 1.5
TURN = 1.7
# An order that the answer names costs a little more for every line between its two.
LEAP = 0.1
# Threads begin, end and wait for each other in the same order in every run.
_DULL = (Op.BEGIN, Op.END, Op.START, Op.JOIN)


def orders(
    timeline: Timeline, lines: Sequence[LinePoints], failing: str
) -> dict[Constraint, float]:
    """All that may matter, and what each costs; of orders with the same effect the cheapest."""
    best: dict[object, tuple[Constraint, float]] = {}
    for usual, pairs in _kinds(timeline, lines, failing):
        for one in timeline.constraints(pairs):
            cost = _price(timeline, one, usual, lines)
            if one.is_named and (one.key not in best or cost < best[one.key][1]):
                best[one.key] = one, cost
    return dict(best.values())


def _kinds(
    timeline: Timeline, lines: Sequence[LinePoints], failing: str
) -> Iterator[tuple[float, Iterator[Pair]]]:
    yield CONFLICT, named(timeline, lines)
    yield NAMED, waits(timeline)
    yield CONFLICT, conflicts(timeline)
    yield END, endings(timeline, failing)
    yield HAND_OFF, hand_offs(timeline)
    yield TURN, turns(timeline)


def _price(timeline: Timeline, one: Constraint, usual: float, lines: Sequence[LinePoints]) -> float:
    before, after = timeline.meaning(one.before).point, timeline.meaning(one.after).point
    leaps = [
        second - first
        for first, second in combinations(range(len(lines)), 2)
        if before in lines[first].points
        and after in lines[second].points
        and lines[first].role != lines[second].role
    ]
    return min(usual, NAMED + LEAP * (min(leaps) - 1)) if leaps else usual


def named(timeline: Timeline, lines: Sequence[LinePoints]) -> Iterator[Pair]:
    """What the answer says, in all its occurrences; it may be about more than one cell."""
    for one, other in combinations(lines, 2):
        last: dict[str, Event] = {}
        for event in timeline.events:
            if event.point in other.points and one.role != other.role:
                yield from ((early, event) for early in last.values() if early.path != event.path)
            if event.point in one.points:
                last[event.path] = event


def conflicts(timeline: Timeline) -> Iterator[Pair]:
    """Neighbouring accesses of one cell by different threads, one of them changing it."""
    writes: dict[int, Event] = {}
    reads: dict[int, dict[str, Event]] = {}
    for event in timeline.events:
        if not event.is_access:
            continue
        since = reads.setdefault(event.cell, {})
        earlier = [writes[event.cell]] if event.cell in writes else []
        if event.writes:
            earlier += since.values()
        yield from ((one, event) for one in earlier if one.path != event.path)
        if event.writes:
            writes[event.cell] = event
            # The write orders earlier reads before all that follows: only neighbours count.
            since.clear()
        else:
            since[event.path] = event


def waits(timeline: Timeline) -> Iterator[Pair]:
    """A lock that one thread has taken and another one waits for, for ever."""
    taken = {event.cell: event for event in timeline.done if event.op is Op.ACQUIRE}
    for event in timeline.pending:
        if event.cell in taken and taken[event.cell].path != event.path:
            yield taken[event.cell], event


def hand_offs(timeline: Timeline) -> Iterator[Pair]:
    """A lock given back by one thread and taken by another."""
    released: dict[int, Event] = {}
    for event in timeline.events:
        if event.op is Op.RELEASE:
            released[event.cell] = event
        elif event.op is Op.ACQUIRE:
            last = released.get(event.cell)
            if last is not None and last.path != event.path:
                yield last, event


def endings(timeline: Timeline, failing: str) -> Iterator[Pair]:
    """The failing thread's last access before what every other thread did next.

    Without these constraints bugs of three threads do not come back, as a prototype showed: what
    the others do next may hide the failure.
    """
    for last in [] if timeline.pending else timeline.failing(failing):
        later: dict[str, Event] = {}
        for event in timeline.events[last.at + 1 :]:
            if event.path != last.path and event.op not in _DULL:
                later.setdefault(event.path, event)
        yield from ((last, event) for event in later.values())


def turns(timeline: Timeline) -> Iterator[Pair]:
    """Where one thread of two took over from the other, looking at what both could see."""
    users: dict[int, set[str]] = {}
    for event in timeline.events:
        users.setdefault(event.cell, set()).add(event.path)
    last: dict[str, Event] = {}
    for event in timeline.events:
        if event.op in _DULL or not event.site or len(users[event.cell]) < 2:
            continue
        mine = last.get(event.path)
        for other in last.values():
            if other.path != event.path and (mine is None or other.at > mine.at):
                yield other, event
        last[event.path] = event
