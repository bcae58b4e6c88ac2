# SPDX-License-Identifier: Apache-2.0
"""An answer as it occurred in one failing run: its accesses, and the constraints between them."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, permutations

from unsnarl.experiments.constraints import Constraint, Event, Timeline
from unsnarl.experiments.scene import Spot

Chain = tuple[Event, ...]
Row = dict[str, list[Event]]

# In a loop an answer may occur hundreds of times; the latest are nearest to the failure.
MOST_CHAINS = 12


def chains(timeline: Timeline, spots: Sequence[Spot]) -> list[Chain]:
    """Where the spots occurred in their order, each role a thread; the latest occurrence first.

    Of those that begin with the same event only the shortest.
    """
    if not spots:
        return []
    rows = _rows(timeline, spots)
    roles = list(dict.fromkeys(spot.role for spot in spots))
    found = [
        chain
        for paths in permutations(sorted(set().union(*rows)), len(roles))
        for chain in _windows(rows, [paths[roles.index(spot.role)] for spot in spots])
    ]
    return sorted(found, key=lambda chain: chain[-1].at, reverse=True)[:MOST_CHAINS]


def _rows(timeline: Timeline, spots: Sequence[Spot]) -> list[Row]:
    """The events of every spot, by their threads."""
    rows: list[Row] = [defaultdict(list) for _ in spots]
    for event in map(timeline.meaning, timeline.events):
        for row, spot in zip(rows, spots, strict=True):
            if event.point in spot.points:
                row[event.path].append(event)
    return rows


def _windows(rows: Sequence[Row], paths: Sequence[str]) -> Iterable[Chain]:
    of_threads = [row.get(path, []) for row, path in zip(rows, paths, strict=True)]
    shortest: dict[int, Chain] = {}
    for last in of_threads[-1]:
        chain = _back_from(last, of_threads[:-1])
        if chain is not None:
            shortest.setdefault(chain[0].at, chain)
    return shortest.values()


def _back_from(last: Event, rows: Sequence[Sequence[Event]]) -> Chain | None:
    """With the latest event of each row before that of the next one."""
    chain = [last]
    for row in reversed(rows):
        place = bisect_left(row, chain[0].at, key=lambda event: event.at)
        if not place:
            return None
        chain.insert(0, row[place - 1])
    return tuple(chain)


def tells(chain: Chain, constraints: Sequence[Constraint]) -> bool:
    """Whether the events come in this order wherever the constraints are kept."""
    return all(is_implied(one, other, constraints) for one, other in steps(chain))


def steps(chain: Sequence[Event]) -> Iterator[tuple[Event, Event]]:
    """Its neighbours of different threads; the order within a thread goes without saying."""
    return ((one, other) for one, other in pairwise(chain) if one.path != other.path)


def is_implied(one: Event, other: Event, constraints: Sequence[Constraint]) -> bool:
    """Whether the constraints and the threads' own order put the one event before the other."""
    after = {one.path: one.at}
    grows = True
    while grows:
        grows = False
        for order in constraints:
            known = after.get(order.before.path)
            hold = order.hold
            if known is not None and known <= order.before.at:
                grows |= hold.at < after.get(hold.path, hold.at + 1)
                after[hold.path] = min(hold.at, after.get(hold.path, hold.at))
    return other.path in after and after[other.path] <= other.at


def occurrence(timeline: Timeline, spots: Sequence[Spot]) -> list[Event]:
    """The latest occurrence of the spots in their order, each in the thread of its role."""
    best: list[Event] = []
    for first in reversed(_at(timeline, spots[0].points)):
        told = _from(first, timeline, spots)
        if len(told) > len(best):
            best = told
        if len(best) == len(spots):
            break
    return best


def _from(first: Event, timeline: Timeline, spots: Sequence[Spot]) -> list[Event]:
    told, threads = [first], {spots[0].role: first.path}
    for spot in spots[1:]:
        for event in _at(timeline, spot.points, threads.get(spot.role)):
            new = spot.role not in threads and event.path in threads.values()
            if event.at > told[-1].at and not new:
                threads.setdefault(spot.role, event.path)
                told.append(event)
                break
        else:
            return told
    return told


def _at(timeline: Timeline, points: Sequence[int], path: str | None = None) -> list[Event]:
    return [e for e in timeline.events if e.point in points and path in (None, e.path)]


def told_constraints(timeline: Timeline, spots: Sequence[Spot]) -> list[Constraint]:
    """The order of the answer's accesses wherever the thread changes."""
    pairs = [pair for pair in pairwise(occurrence(timeline, spots)) if pair[0].path != pair[1].path]
    return list(timeline.constraints(pairs))
