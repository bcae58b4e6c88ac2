# SPDX-License-Identifier: Apache-2.0
"""Solvers of order problems: what was executed is solvable, and all of them agree."""

from __future__ import annotations

from dataclasses import replace

from evaluation.synthetic_orders import FUNC, LOOP, Machine, simulate
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conformance.order_twin import any_order

from unsnarl.reproduce.orders import (
    Kind,
    OrderEvent,
    OrderProblem,
    Solved,
    TimedOut,
    Unsatisfiable,
    problem_of,
    solve_order,
    violation,
)
from unsnarl.reproduce.orders.native import NativeSolver
from unsnarl.reproduce.orders.smt import SmtSolver

NATIVE = NativeSolver()
CDCL = NativeSolver(steps=0)
FREEZING = NativeSolver(steps=0, lag=1)
SMT = SmtSolver()
TIME = 240.0
CELLS, LOCKS, VALUES, CORES = 3, 2, 3, 2

steps = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.sampled_from([Kind.READ, Kind.READ, Kind.WRITE, Kind.WRITE, Kind.ACQUIRE, Kind.CLOCK]),
        st.integers(0, CELLS - 1),
        st.integers(0, VALUES - 1),
        st.booleans(),
    ),
    max_size=60,
)


class Run:
    """A program that is made up while it runs: threads take turns at random."""

    def __init__(self, width: int, known: bool) -> None:
        self.threads: list[list[OrderEvent]] = [[] for _ in range(4)]
        self.order: list[tuple[int, int]] = []
        self.memory: dict[int, int] = {}
        self.holders: dict[int, int] = {}
        self.time = 0
        self.width = width
        self.initial = dict.fromkeys(range(CELLS), 0) if known else {}

    def step(self, thread: int, kind: Kind, thing: int, value: int, logged: bool) -> None:
        """One event of the thread; one that would block is left out."""
        self.time += 1 + value
        if kind == Kind.READ:
            self._log(
                thread, OrderEvent(kind, thing, self.memory.get(thing, 0) if logged else None)
            )
        elif kind == Kind.WRITE:
            self.memory[thing] = value
            self._log(thread, OrderEvent(kind, thing, value))
        elif kind == Kind.CLOCK:
            core = thread % CORES
            self._log(thread, OrderEvent(kind, core, self.time + core * self.width + 10))
        else:
            self._lock(thread, thing % LOCKS)

    def _lock(self, thread: int, lock: int) -> None:
        if self.holders.get(lock) == thread:
            del self.holders[lock]
            self._log(thread, OrderEvent(Kind.RELEASE, lock))
        elif lock not in self.holders:
            self.holders[lock] = thread
            self._log(thread, OrderEvent(Kind.ACQUIRE, lock))

    def _log(self, thread: int, event: OrderEvent) -> None:
        self.order.append((thread, len(self.threads[thread])))
        self.threads[thread].append(event)

    def problem(self) -> OrderProblem:
        ahead = [[0, self.width], [self.width, 0]]
        return problem_of(self.threads, self.initial, ahead)


@settings(max_examples=150, deadline=None)
@given(steps, st.integers(0, 4), st.booleans())
def test_what_was_executed_has_an_order(
    done: list[tuple[int, Kind, int, int, bool]], width: int, known: bool
) -> None:
    run = Run(width, known)
    for step in done:
        run.step(*step)
    problem = run.problem()
    first = problem.first.tolist()
    assert violation(problem, [first[thread] + place for thread, place in run.order]) is None
    for solver in (NATIVE, CDCL, FREEZING):
        assert isinstance(solve_order(problem, solver, TIME), Solved)


def events(most: int) -> st.SearchStrategy[list[OrderEvent]]:
    """A thread of random events with random values; its locks are taken in turn."""
    cell, value = st.integers(0, 1), st.integers(0, 2)
    listed = st.lists(
        st.one_of(
            st.builds(OrderEvent, st.just(Kind.READ), cell, st.none() | value | value | value),
            st.builds(OrderEvent, st.just(Kind.WRITE), cell, value),
            st.builds(OrderEvent, st.just(Kind.CLOCK), cell, st.integers(0, 12)),
            st.builds(OrderEvent, st.just(Kind.ACQUIRE), cell, st.none()),
        ),
        max_size=most,
    )
    return listed.map(_balanced)


def _balanced(listed: list[OrderEvent]) -> list[OrderEvent]:
    held: set[int] = set()
    stamp, balanced = 0, []
    for event in listed:
        if event.kind == Kind.ACQUIRE and event.object in held:
            held.remove(event.object)
            balanced.append(OrderEvent(Kind.RELEASE, event.object))
            continue
        if event.kind == Kind.ACQUIRE:
            held.add(event.object)
        elif event.kind == Kind.CLOCK:
            stamp += event.value or 0
        stamped = event.kind == Kind.CLOCK
        balanced.append(event._replace(value=stamp) if stamped else event)
    return balanced


problems = st.builds(
    lambda threads, initial, width: problem_of(threads, initial, [[0, width], [width, 0]]),
    st.lists(events(4), min_size=1, max_size=3).filter(lambda t: sum(map(len, t)) <= 9),
    st.dictionaries(st.integers(0, 1), st.integers(0, 2)),
    st.integers(0, 6),
)


@settings(max_examples=300, deadline=None)
@given(problems)
def test_solvers_agree_with_trying_all_orders(problem: OrderProblem) -> None:
    expected = Unsatisfiable if any_order(problem) is None else Solved
    for solver in (NATIVE, CDCL, FREEZING, SMT):
        assert isinstance(solve_order(problem, solver, TIME), expected), solver.name


@settings(max_examples=80, deadline=None)
@given(
    st.builds(
        Machine,
        accesses=st.sampled_from([15, 25, 35]),
        threads=st.integers(2, 6),
        cells=st.integers(2, 6),
        values=st.integers(2, 4),
        seed=st.integers(0, 10**6),
    ),
    st.sampled_from([(), FUNC, LOOP]),
    st.lists(st.tuples(st.integers(0, 99), st.integers(0, 3)), max_size=3),
    st.booleans(),
)
def test_solvers_agree_on_corrupted_runs(
    machine: Machine, periods: tuple[int, ...], lies: list[tuple[int, int]], known: bool
) -> None:
    problem = simulate(machine).problem(periods)
    reads, value = problem.of(Kind.READ), problem.value.copy()
    for place, lie in lies if len(reads) else []:
        value[reads[place % len(reads)]] = lie
    problem = replace(problem, value=value, initial=problem.initial if known else {})
    expected = type(solve_order(problem, SMT, TIME))
    assert expected is not TimedOut
    for solver in (NATIVE, CDCL, FREEZING):
        assert isinstance(solve_order(problem, solver, TIME), expected)
