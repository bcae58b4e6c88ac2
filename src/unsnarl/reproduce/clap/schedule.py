# SPDX-License-Identifier: Apache-2.0
"""From a solved order to what the gate is told: who runs until where.

Any order that keeps the conflicts of the solved one does the same. Of these the one is taken in
which threads go on as long as they can: the fewer switches, the better to read (CLAP asks for the
fewest, too).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from unsnarl.model.site import Op
from unsnarl.probes.python.places import plain_function, plain_name
from unsnarl.reproduce.clap.encode import Encoded, Place
from unsnarl.reproduce.clap.histories import Did, History
from unsnarl.reproduce.orders import Kind, OrderProblem
from unsnarl.runfile import SiteTable

Row = list[Any]  # path, points, occurrence
# What the gate can hold a thread before.
HELD = (Op.READ, Op.WRITE, Op.CALL, Op.ACQUIRE, Op.JOIN)


def conflicts(problem: OrderProblem, order: Sequence[int]) -> list[tuple[int, int]]:
    """What of an order matters: (earlier, later) event of two threads."""
    kinds, objects = problem.kind.tolist(), problem.object.tolist()
    known = problem.known.tolist()
    first, last = problem.first.tolist(), problem.first[1:].tolist()
    found: list[tuple[int, int]] = []
    written: dict[int, int] = {}
    read: dict[int, list[int]] = defaultdict(list)
    released: dict[int, int] = {}
    for event in order:
        kind, thing = kinds[event], objects[event]
        if kind == Kind.READ and known[event]:
            found += [(written[thing], event)] if thing in written else []
            read[thing].append(event)
        elif kind == Kind.WRITE:
            found += [(written[thing], event)] if thing in written else []
            found += [(one, event) for one in read.pop(thing, [])]
            written[thing] = event
        elif kind == Kind.ACQUIRE and thing in released:
            found.append((released[thing], event))
        elif kind == Kind.RELEASE:
            released[thing] = event
        elif kind == Kind.START and first[thing] < last[thing]:
            found.append((event, first[thing]))
        elif kind == Kind.JOIN and first[thing] < last[thing]:
            found.append((last[thing] - 1, event))
    return found


def smoothed(problem: OrderProblem, order: Sequence[int]) -> list[int]:
    """An order with the same conflicts, in which threads go on as long as they can."""
    before: dict[int, list[int]] = defaultdict(list)
    for earlier, later in conflicts(problem, order):
        before[later].append(earlier)
    at, ends = problem.first[:-1].tolist(), problem.first[1:].tolist()
    rank = {event: number for number, event in enumerate(order)}
    found: list[int] = []
    done = [False] * problem.size
    current = -1

    def can(thread: int) -> bool:
        return at[thread] < ends[thread] and all(done[e] for e in before[at[thread]])

    while len(found) < problem.size:
        if current < 0 or not can(current):
            able = [thread for thread in range(problem.threads) if can(thread)]
            current = min(able, key=lambda thread: rank[at[thread]])
        event = at[current]
        done[event] = True
        at[current] += 1
        found.append(event)
    return found


def places_in_order(encoded: Encoded, order: Sequence[int]) -> list[Place]:
    """All events of the problem as (thread, own event), each once, at its last moment.

    Clock markers are none: they may stand long before the access that they belong to.
    """
    clocks = set(encoded.problem.of(Kind.CLOCK).tolist())
    places = [encoded.places[event] for event in order if event not in clocks]
    last = {place: at for at, place in enumerate(places)}
    return sorted(last, key=last.__getitem__)


class Occurrences:
    """Counts as the gate does: by thread, place and class of operation (native/gate/places.c)."""

    def __init__(self, table: SiteTable) -> None:
        self._table = table
        self._placed: dict[int, object] = {}

    def of(self, events: Sequence[Did]) -> list[int]:
        """For each event the how-manieth of its thread it is at its place."""
        counts: Counter[object] = Counter()
        found = []
        for did in events:
            key = self._key(did.point)
            if did.op in HELD:
                counts[key] += 1
            found.append(counts[key])
        return found

    def _key(self, point: int) -> object:
        if point not in self._placed:
            site = self._table.site(point >> 4)
            op = point & 15
            kind = op if op in (Op.READ, Op.WRITE, Op.CALL) else Op.ACQUIRE
            name = plain_name(site.name) if site.kind != "call" else ""
            place = (site.file, plain_function(site.function), site.line, name, kind)
            self._placed[point] = place
        return self._placed[point]


def rows(
    histories: Sequence[History],
    order: Sequence[Place],
    occurrences: Occurrences,
    can_hold: Callable[[Did], bool],
    failing: str = "",
) -> list[Row]:
    """The segments of a plan; the failing thread goes on first when all is done."""
    segments = _segments(histories, order, can_hold)
    counted = [occurrences.of(history.known) for history in histories]
    found: list[Row] = []
    for thread, until in segments:
        history = histories[thread]
        if until < len(history.known):
            found.append([history.path, [history.known[until].point], counted[thread][until]])
        else:
            found.append([history.path, [], 0])
    return [*found, [failing, [], 0]] if failing else found


def _segments(
    histories: Sequence[History], order: Sequence[Place], can_hold: Callable[[Did], bool]
) -> list[tuple[int, int]]:
    """(thread, the event of its that it is to stop before), in turn."""
    stops = [_stops(history.known, can_hold) for history in histories]
    reached = [0] * len(histories)
    wanted: dict[int, list[int]] = defaultdict(list)
    for thread, place in order:
        wanted[thread].append(place)
    nexts = {
        (thread, place): following
        for thread, places in wanted.items()
        for place, following in pairwise([*places, len(histories[thread].events)])
    }
    found: list[tuple[int, int]] = []
    for (thread, place), (later, _) in pairwise([*order, (-1, 0)]):
        if thread == later:
            continue
        until = stops[thread][nexts[thread, place]]
        if until > reached[thread]:
            reached[thread] = until
            found.append((thread, until))
    return found


def _stops(events: Sequence[Did], can_hold: Callable[[Did], bool]) -> list[int]:
    """For each event, and the end, the next one at which the gate can hold the thread."""
    found = [len(events)]
    for place in range(len(events) - 1, -1, -1):
        found.append(place if can_hold(events[place]) else found[-1])
    return found[::-1]
