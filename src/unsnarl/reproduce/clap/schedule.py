# SPDX-License-Identifier: Apache-2.0
"""From a solved order to a sketch for the gate, which says when each access is due.

Any order that keeps the conflicts of the solved one does the same. Of these the one is taken in
which threads go on as long as they can: the fewer switches, the better to read (CLAP asks for the
fewest, too).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from unsnarl.model.event import Op
from unsnarl.reproduce.clap.encode import Encoded, Position
from unsnarl.reproduce.clap.histories import History
from unsnarl.reproduce.orders import Kind, OrderProblem
from unsnarl.reproduce.pres.sketch import write_sketch


def conflicts(problem: OrderProblem, order: Sequence[int]) -> list[tuple[int, int]]:
    """What of an order matters: (earlier, later) event of two threads."""
    kinds, objects = problem.kind.tolist(), problem.object.tolist()
    logged = problem.logged.tolist()
    first, last = problem.first.tolist(), problem.first[1:].tolist()
    found: list[tuple[int, int]] = []
    written: dict[int, int] = {}
    read: dict[int, list[int]] = defaultdict(list)
    released: dict[int, int] = {}
    for event in order:
        kind, thing = kinds[event], objects[event]
        # A read whose value is not known may see any write, so it orders nothing.
        if kind == Kind.READ and logged[event]:
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


def positions_in_order(encoded: Encoded, order: Sequence[int]) -> list[Position]:
    """All events of the problem as (thread, own event), each once, at its last moment.

    Clock markers are none: they may stand long before the access that they belong to.
    """
    clocks = set(encoded.problem.of(Kind.CLOCK).tolist())
    positions = [encoded.positions[event] for event in order if event not in clocks]
    last = {position: at for at, position in enumerate(positions)}
    return sorted(last, key=last.__getitem__)


def whole_order(histories: Sequence[History], order: Sequence[Position]) -> list[Position]:
    """All events of all threads: those that the problem does not know come before the next of
    their thread that it does."""
    reached = [0] * len(histories)
    found: list[Position] = []
    ends = [(thread, len(history.events) - 1) for thread, history in enumerate(histories)]
    for thread, position in [*order, *ends]:
        found += [(thread, at) for at in range(reached[thread], position + 1)]
        reached[thread] = max(reached[thread], position + 1)
    return found


def demands(encoded: Encoded, order: Sequence[int]) -> list[dict[int, list[Position]]]:
    """By thread and event: which threads must have done how many events before."""
    count = encoded.problem.threads
    latest: list[dict[int, dict[int, int]]] = [{} for _ in range(count)]
    for earlier, later in conflicts(encoded.problem, order):
        (source, before), (thread, position) = encoded.positions[earlier], encoded.positions[later]
        if source != thread:
            own = latest[thread].setdefault(position, {})
            own[source] = max(own.get(source, 0), before + 1)
    return [{position: sorted(own.items()) for position, own in one.items()} for one in latest]


def postponed(
    histories: Sequence[History],
    order: Sequence[Position],
    wanted: Sequence[dict[int, list[Position]]],
) -> list[Position]:
    """The last events of threads that never came to their ends as late as can be: what such a
    thread was about to do next is not logged, and must not be done before all else."""
    needed = {need for own in wanted for needs in own.values() for need in needs}
    late = {
        (thread, len(history.events) - 1)
        for thread, history in enumerate(histories)
        if all(did.op != Op.END for did in history.events)
        and (thread, len(history.events)) not in needed
    }
    return [one for one in order if one not in late] + [one for one in order if one in late]


def write(
    path: Path, histories: Sequence[History], encoded: Encoded, order: Sequence[int], failing: str
) -> None:
    """The order as a sketch for the gate; the failing thread goes on first when all is done."""
    smooth = smoothed(encoded.problem, order)
    whole = whole_order(histories, positions_in_order(encoded, smooth))
    wanted = demands(encoded, smooth)
    points = {history.path: [did.point for did in history.events] for history in histories}
    write_sketch(path, points, postponed(histories, whole, wanted), wanted, [failing])
