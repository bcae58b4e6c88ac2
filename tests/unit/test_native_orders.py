# SPDX-License-Identifier: Apache-2.0
"""Our own solver: its two searches take turns, and it keeps to its limits."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from evaluation.synthetic_orders import Machine, simulate

from unsnarl.errors import ToolError
from unsnarl.reproduce.orders import (
    Kind,
    OrderEvent,
    OrderProblem,
    Solved,
    TimedOut,
    problem_of,
    solve_order,
)
from unsnarl.reproduce.orders.native import NativeSolver

TIME = 240.0


def same_values(readers: int, count: int) -> OrderProblem:
    """Reads that may be from any write of all threads: choices grow with the square."""
    reads, writes = [OrderEvent(Kind.READ, 1, 0)] * count, [OrderEvent(Kind.WRITE, 1, 0)] * count
    return problem_of([*[reads] * readers, *[writes] * readers], {1: 0})


@pytest.mark.parametrize(("cells", "seed"), [(1, 0), (2, 0), (2, 2), (8, 0)])
def test_few_hot_cells_without_clocks(cells: int, seed: int) -> None:
    problem = simulate(Machine(1000, 4, cells=cells, seed=seed)).problem()
    assert isinstance(solve_order(problem, NativeSolver(), TIME), Solved)


def test_what_one_search_cannot_do_the_other_does() -> None:
    hot = simulate(Machine(1000, 4, cells=2, seed=2)).problem()
    answer = solve_order(hot, NativeSolver(), TIME)
    assert isinstance(answer, Solved) and answer.by == "frontier"
    assert NativeSolver(steps=0).solve(hot, 1.0) == TimedOut(1.0)  # CDCL alone
    many = simulate(Machine(1000, 4, cells=64, seed=0)).problem()
    found = [solve_order(many, NativeSolver(steps=steps), TIME) for steps in (0, 1, -1)]
    assert all(isinstance(answer, Solved) for answer in found)


def test_a_cell_that_two_threads_poll_while_a_third_writes_it() -> None:
    count = 150_000
    polls = [OrderEvent(Kind.READ, 1, 0)] * count
    writes = [OrderEvent(Kind.WRITE, 1, value) for value in range(1, count + 1)]
    answer = solve_order(problem_of([polls, polls, writes], {1: 0}), NativeSolver(), TIME)
    assert isinstance(answer, Solved)
    assert answer.order.tolist()[-count:] == list(range(2 * count, 3 * count))


def test_time_is_kept_while_there_is_only_writing_down() -> None:
    problem = same_values(4, 2000)
    begin = time.process_time()
    assert isinstance(NativeSolver().solve(problem, 0.5), TimedOut)
    assert time.process_time() - begin < 15


def test_solvers_that_run_at_once_do_what_each_does_alone() -> None:
    problems = [simulate(Machine(600, 4, cells=8, seed=seed)).problem() for seed in range(4)]

    def order(problem: OrderProblem) -> list[int]:
        answer = solve_order(problem, NativeSolver(), TIME)
        assert isinstance(answer, Solved)
        return answer.order.tolist()

    alone = [order(problem) for problem in problems]
    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(order, problems)] == alone


def test_memory_is_limited_and_its_end_is_told() -> None:
    problem = simulate(Machine(300, 4, cells=8)).problem()
    with pytest.raises(ToolError, match="more than 1 MiB of memory") as raised:
        NativeSolver(steps=0, memory=1 << 20).solve(same_values(2, 500), TIME)
    assert raised.value.slug == "solver-memory"
    for memory in range(0, 60_000, 2000):
        with pytest.raises(ToolError):
            NativeSolver(memory=memory).solve(problem, TIME)
    assert isinstance(solve_order(problem, NativeSolver(memory=1 << 28), TIME), Solved)
