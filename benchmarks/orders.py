# SPDX-License-Identifier: Apache-2.0
"""Order problems: our solver and z3 on the same problems, and how its time grows."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass

from evaluation.synthetic_orders import FUNC, Machine, simulate

from benchmarks.figures import Figure, median
from unsnarl.reproduce.orders import OrderProblem, OrderSolver, Solved, TimedOut, violation
from unsnarl.reproduce.orders.native import NativeSolver
from unsnarl.reproduce.orders.smt import SmtSolver

LIMIT = 60.0  # seconds for one problem
CUT_LIMIT = 20.0  # of z3 without clocks; what takes longer counts as this long
CUT = 0.84  # ReCBuLC, section V.B: clocks cut the solving time by at least so much
HOT = 8  # cells, however long the run


@dataclass(frozen=True)
class Sample:
    """CPU seconds for one problem: all of it, and what z3 spent in its check alone."""

    whole: float
    check: float
    finished: bool


def figures(quick: bool) -> Iterator[Figure]:
    """The bars: ratios first, then seconds, then growth."""
    seeds = range(1, 3 if quick else 6)
    yield from _beside_z3(5000, seeds)
    yield from (_cut(accesses, seeds) for accesses in ((500,) if quick else (500, 1000)))
    yield _seconds("orders: 100,000 accesses, 8 threads, FUNC", Machine(100_000, 8), FUNC, 60, 1)
    yield _seconds("orders: 1000 accesses, 4 threads, no clocks", Machine(1000, 4), (), 10, 5)
    for cells in (1, 2, HOT):
        name = f"orders: 1000 accesses of {cells} cells, 4 threads, no clocks"
        yield _seconds(name, Machine(1000, 4, cells=cells), (), 10, 5)
    hot = Machine(10_000 if quick else 100_000, 8, cells=HOT)
    yield _seconds(f"orders: {hot.accesses} accesses of {HOT} cells, 8 threads", hot, FUNC, None, 1)
    yield from _growth((1000, 10_000, 100_000) if quick else (1000, 10_000, 100_000, 1_000_000))


def _beside_z3(accesses: int, seeds: range) -> Iterator[Figure]:
    problems = [simulate(Machine(accesses, 4, seed=seed)).problem(FUNC) for seed in seeds]
    pairs = [(_measured(SmtSolver(), one), _measured(NativeSolver(), one)) for one in problems]
    name = f"orders: {accesses} accesses, 4 threads, FUNC: z3's"
    details = {"ours": [ours.whole for _, ours in pairs], "z3": [z3.whole for z3, _ in pairs]}
    # The bar is held against z3's check alone, without the text that it is given.
    checks = [z3.check / ours.whole for z3, ours in pairs]
    yield median(f"{name} check over all of ours", checks, bar=100, at_least=True)
    wholes = [z3.whole / ours.whole for z3, ours in pairs]
    yield median(f"{name} whole time over ours", wholes, bar=100, at_least=True, details=details)


def _cut(accesses: int, seeds: range) -> Figure:
    """How much of z3's own time the clocks save."""
    samples = []
    for seed in seeds:
        trace = simulate(Machine(accesses, 4, seed=seed))
        with_clocks = _measured(SmtSolver(), trace.problem(FUNC))
        without = _measured(SmtSolver(), trace.problem(), CUT_LIMIT)
        samples.append(100 * (1 - with_clocks.check / without.check))
    name = f"orders: {accesses} accesses, 4 threads: z3's time saved by clocks"
    return median(name, samples, unit="%", bar=100 * CUT, at_least=True)


def _seconds(
    name: str, machine: Machine, periods: tuple[int, ...], bar: float | None, seeds: int
) -> Figure:
    samples = []
    for seed in range(1, seeds + 1):
        trace = simulate(Machine(machine.accesses, machine.threads, machine.cells, seed=seed))
        sample = _measured(NativeSolver(), trace.problem(periods))
        samples.append(sample.whole if sample.finished else float("inf"))
    return median(name, samples, unit="s", bar=bar)


def _growth(sizes: tuple[int, ...]) -> Iterator[Figure]:
    """Microseconds for each access as runs get longer."""
    for accesses in sizes:
        problem = simulate(Machine(accesses, 8, seed=1)).problem(FUNC)
        rounds = 5 if accesses <= 10_000 else 1
        samples = [_measured(NativeSolver(), problem).whole for _ in range(rounds)]
        each = [1e6 * sample / accesses for sample in samples]
        yield Figure(
            f"orders: {accesses} accesses, 8 threads, FUNC, each",
            statistics.median(each),
            min(each),
            max(each),
            unit="us",
        )


def _measured(solver: OrderSolver, problem: OrderProblem, limit: float = LIMIT) -> Sample:
    """Solve and validate; the validation is not timed, and a wrong order is no sample."""
    start = time.process_time()
    answer = solver.solve(problem, limit)
    whole = time.process_time() - start
    if isinstance(answer, Solved):
        wrong = violation(problem, answer.order.tolist())
        if wrong:
            raise RuntimeError(wrong)
    elif not isinstance(answer, TimedOut):
        raise RuntimeError(f"{solver.name} says that a hidden order is impossible")
    check = solver.seconds["solve"] if isinstance(solver, SmtSolver) else whole
    return Sample(whole, check, isinstance(answer, Solved))
