# SPDX-License-Identifier: Apache-2.0
"""The page of solving times; nothing here is timed."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import orders as bench  # noqa: E402
from evaluation import orders  # noqa: E402
from evaluation.orders import Row, Spent  # noqa: E402
from evaluation.synthetic_orders import FUNC, Machine, simulate  # noqa: E402

from unsnarl.reproduce.orders.native import NativeSolver  # noqa: E402
from unsnarl.reproduce.orders.smt import SmtSolver  # noqa: E402


def row(accesses: int, impl: Spent) -> Row:
    clocks = {"FUNC": Spent(False, 0.5), "LOOP": Spent(False, 0.25), "FUNCLOOP": Spent(False, 0.1)}
    return Row(accesses, Spent(False, 0.1), impl, clocks, Spent(False, 0.01), Spent(False, 0.001))


def test_a_size_is_measured_on_every_solver() -> None:
    measured = orders.measure(12, [1, 2, 3])
    times = [measured.nost, measured.impl, *measured.clocks.values(), measured.ours]
    assert not any(spent.late for spent in times)
    assert all(spent.seconds > 0 for spent in times)


def test_time_that_ran_out_is_a_lower_bound() -> None:
    rows = [row(50, Spent(False, 1.0)), row(100, Spent(True, 10.0))]
    text = orders.page(rows, 3, "python -m evaluation.orders")
    assert "| 50 | 100.0 | 10x | 5x | 2.5x | 1x | 50.0 % | 0.1x | 0.01x | 500x |" in text
    assert "| more than 100x | 5x | 2.5x | 1x | at least 95.0 % |" in text
    assert "CLAP-impl's time grows more than 10x, CLAP-tc's at FUNC 1x" in text


@pytest.mark.parametrize("solver", [NativeSolver(), SmtSolver()], ids=["native", "z3"])
def test_the_benchmark_validates_what_it_times(solver: NativeSolver | SmtSolver) -> None:
    problem = simulate(Machine(20, 2)).problem(FUNC)
    sample = bench._measured(solver, problem)
    assert sample.finished and 0 < sample.check <= sample.whole
