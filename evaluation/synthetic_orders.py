# SPDX-License-Identifier: Apache-2.0
"""Order problems of any size, made by a simulated parallel machine that keeps its order hidden.

Each thread has a core of its own; an event takes about 65 cycles, one in fifty stalls much longer
(the machine of the prototype, docs/adr/0020). Stamps carry a skew that the solver does not know,
only its range.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush

from unsnarl.reproduce.orders.problem import Kind, OrderEvent, OrderProblem, problem_of

FUNC, LOOP = (10,), (4,)
FUNCLOOP = (10, 4)
STALL = 900


@dataclass(frozen=True)
class Machine:
    """What is to be simulated.

    Attributes:
        accesses: Reads and writes of shared cells, about.
        threads: How many threads share them.
        cells: How many cells; None for one in 25 accesses. Half of them are guarded by locks.
        values: Written values are below this; 0 for values that never repeat.
        width: The skew of two cores' clocks is known to be within plus and minus this.
        seed: Of everything random.
    """

    accesses: int
    threads: int
    cells: int | None = None
    values: int = 4
    width: int = 100
    seed: int = 0


@dataclass(frozen=True)
class Trace:
    """What the machine did: each thread's events with their times."""

    machine: Machine
    events: list[list[tuple[float, OrderEvent]]]

    def problem(self, periods: Sequence[int] = ()) -> OrderProblem:
        """The order problem, with a clock event wherever a period's number of events is over."""
        threads = self.machine.threads
        generator = random.Random(self.machine.seed + 1)
        width = self.machine.width
        skews = [round(generator.uniform(-width / 2, width / 2)) for _ in range(threads)]
        ahead = [[0 if i == j else width for j in range(threads)] for i in range(threads)]
        listed = [
            list(_stamped(own, core, skew, periods))
            for core, (own, skew) in enumerate(zip(self.events, skews, strict=True))
        ]
        cells = {e.object for own in listed for e in own if e.kind in (Kind.READ, Kind.WRITE)}
        return problem_of(listed, dict.fromkeys(cells, 0), ahead)


def simulate(machine: Machine) -> Trace:
    """One run of the machine."""
    return _Simulation(machine).run()


def contradicted(problem: OrderProblem, seed: int = 0) -> OrderProblem:
    """The problem with four more accesses that no order can have: of two fresh cells each of two
    threads writes one and then does not see the other's write, at about the same time."""
    generator = random.Random(seed)
    lists = threads_of(problem)
    one, other = generator.sample(range(problem.threads), 2)
    moment = generator.random()
    fresh = max([0, *problem.object.tolist()]) + 1
    for thread, (mine, theirs) in ((one, (fresh, fresh + 1)), (other, (fresh + 1, fresh))):
        place = int(moment * len(lists[thread]))
        lists[thread][place:place] = [
            OrderEvent(Kind.WRITE, mine, 1),
            OrderEvent(Kind.READ, theirs, 0),
        ]
    initial = {**problem.initial, fresh: 0, fresh + 1: 0}
    return problem_of(lists, initial, problem.ahead.tolist())


def misread(problem: OrderProblem, seed: int = 0) -> OrderProblem:
    """The problem with one read's value replaced by one that its cell never had."""
    value = problem.value.copy()
    read = random.Random(seed).choice(problem.of(Kind.READ).tolist())
    value[read] = value.max() + 1
    return replace(problem, value=value)


def threads_of(problem: OrderProblem) -> list[list[OrderEvent]]:
    """The events again, thread by thread."""
    columns = zip(
        problem.kind.tolist(),
        problem.object.tolist(),
        problem.value.tolist(),
        problem.logged.tolist(),
        strict=True,
    )
    events = [
        OrderEvent(Kind(kind), thing, value if known else None)
        for kind, thing, value, known in columns
    ]
    return [events[a:b] for a, b in zip(problem.first[:-1], problem.first[1:], strict=True)]


def _stamped(
    events: list[tuple[float, OrderEvent]], core: int, skew: int, periods: Sequence[int]
) -> Iterator[OrderEvent]:
    before = 0.0
    for index, (time, event) in enumerate(events):
        if any(index % period == 0 for period in periods):
            # Clocks are not negative; the offset is the same everywhere.
            yield OrderEvent(Kind.CLOCK, core, int((before + time) / 2) + skew + 1_000_000)
        before = time
        yield event


@dataclass
class _Simulation:
    machine: Machine
    memory: dict[int, int] = field(default_factory=dict)
    holders: dict[int, int] = field(default_factory=dict)
    waiting: dict[int, list[int]] = field(default_factory=dict)
    left: int = 0
    written: int = 0

    def run(self) -> Trace:
        machine = self.machine
        self.random = random.Random(machine.seed)
        self.cells = machine.cells or max(4, machine.accesses // 25)
        self.left = machine.accesses
        self.events: list[list[tuple[float, OrderEvent]]] = [[] for _ in range(machine.threads)]
        todo: list[list[OrderEvent]] = [[] for _ in range(machine.threads)]
        self.ready = [(0.0, thread) for thread in range(machine.threads)]
        while self.ready:
            time, thread = heappop(self.ready)
            if not todo[thread]:
                if self.left <= 0:
                    continue
                todo[thread] = self._work()
            if self._do(time, thread, todo[thread][-1]):
                todo[thread].pop()
                heappush(self.ready, (time + self._pause(), thread))
        return Trace(machine, self.events)

    def _pause(self) -> float:
        stall = STALL * self.random.random() if self.random.random() < 0.02 else 0.0
        return self.random.expovariate(1 / 60) + 5 + stall

    def _work(self) -> list[OrderEvent]:
        """The next few events of a thread, the first one last: some accesses of one cell."""
        guarded = self.cells // 2
        if self.random.random() < 0.4 and guarded:
            cell = self.random.randrange(guarded)
            lock = cell % max(1, self.cells // 4)
            inside = [self._access(cell) for _ in range(self.random.randint(1, 3))]
            return [OrderEvent(Kind.RELEASE, lock), *inside, OrderEvent(Kind.ACQUIRE, lock)]
        cell = self.random.randrange(guarded, self.cells)
        return [self._access(cell) for _ in range(self.random.randint(1, 4))]

    def _access(self, cell: int) -> OrderEvent:
        self.left -= 1
        return OrderEvent(self.random.choice((Kind.READ, Kind.READ, Kind.WRITE)), cell)

    def _do(self, time: float, thread: int, event: OrderEvent) -> bool:
        """Do the event, or wait for the lock that it wants."""
        kind, thing = event.kind, event.object
        if kind == Kind.ACQUIRE:
            if self.holders.setdefault(thing, thread) != thread:
                self.waiting.setdefault(thing, []).append(thread)
                return False
        elif kind == Kind.RELEASE:
            del self.holders[thing]
            for waiter in self.waiting.pop(thing, []):
                heappush(self.ready, (time + 1 + self.random.random(), waiter))
        elif kind == Kind.WRITE:
            event = event._replace(value=self._fresh_value())
            self.memory[thing] = event.value or 0
        else:
            event = event._replace(value=self.memory.get(thing, 0))
        self.events[thread].append((time, event))
        return True

    def _fresh_value(self) -> int:
        self.written += 1
        values = self.machine.values
        return self.random.randrange(values) if values else self.written
