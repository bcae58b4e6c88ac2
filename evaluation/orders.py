# SPDX-License-Identifier: Apache-2.0
"""ReCBuLC's figure 11 on synthetic runs: `python -m evaluation.orders`, writes docs/orders.md.

CLAP-impl is z3 without clocks, CLAP-tc z3 with the clocks of figure 8, NOST z3 on the problem and
its answer together (section V.B). Ours solves the same problems. Times are processor time; of z3
its check alone, of ours everything.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from evaluation import markdown
from evaluation.draws import REPOSITORY
from evaluation.synthetic_orders import FUNC, FUNCLOOP, LOOP, Machine, simulate
from unsnarl.reproduce.orders import OrderProblem, Solution, Solved, solve_order, violation
from unsnarl.reproduce.orders.native import NativeSolver
from unsnarl.reproduce.orders.smt import SmtSolver, encode

PAGE = REPOSITORY / "docs" / "orders.md"
SIZES = (50, 100, 200, 500, 1000)
THREADS = 4
LIMIT = 30.0
LEVELS = {"FUNC": FUNC, "LOOP": LOOP, "FUNCLOOP": FUNCLOOP}
PAPER = (
    ("solving time that clocks save", "84.66 % to 99.99 %"),
    ("CLAP-tc over NOST", "below 10x for most programs, about 1x for Aget"),
    ("CLAP-impl over CLAP-tc, Racey", "5x to 100x"),
    ("largest input over smallest, PBZIP2", "CLAP-impl about 1000x, CLAP-tc 4x"),
)


class Spent(NamedTuple):
    """Processor time for a problem; if it was out of time, what it had spent until then."""

    late: bool
    seconds: float


@dataclass(frozen=True)
class Row:
    """The times of one size, medians over the seeds."""

    accesses: int
    nost: Spent
    impl: Spent
    clocks: dict[str, Spent]  # CLAP-tc by level
    ours: Spent
    ours_with_clocks: Spent

    @property
    def saved(self) -> float:
        """The share of z3's time that the clocks save at the slowest level."""
        return 1 - max(spent.seconds for spent in self.clocks.values()) / self.impl.seconds


def measure(accesses: int, seeds: Iterable[int]) -> Row:
    """One size, every seed on every solver."""
    traces = [simulate(Machine(accesses, THREADS, seed=seed)) for seed in seeds]
    plain = [trace.problem() for trace in traces]
    return Row(
        accesses,
        nost=statistics.median_low(map(near_optimal, plain)),
        impl=statistics.median_low(map(by_z3, plain)),
        clocks={
            level: statistics.median_low(by_z3(trace.problem(periods)) for trace in traces)
            for level, periods in LEVELS.items()
        },
        ours=statistics.median_low(map(by_ours, plain)),
        ours_with_clocks=statistics.median_low(by_ours(trace.problem(FUNC)) for trace in traces),
    )


def by_z3(problem: OrderProblem) -> Spent:
    """What z3's check takes."""
    solver = SmtSolver()
    found = solve_order(problem, solver, LIMIT)
    return Spent(not isinstance(found, Solved), solver.seconds.get("solve", 0.0))


def by_ours(problem: OrderProblem) -> Spent:
    """What our own solver takes, with all that it prepares."""
    start = time.process_time()
    found = NativeSolver().solve(problem, LIMIT)
    seconds = time.process_time() - start
    return Spent(not _is_right(problem, found), seconds)


def _is_right(problem: OrderProblem, found: Solution | None) -> bool:
    """Whether there is an order; a wrong one is no figure."""
    if not isinstance(found, Solved):
        return False
    wrong = violation(problem, found.order.tolist())
    if wrong:
        raise RuntimeError(wrong)
    return True


def near_optimal(problem: OrderProblem) -> Spent:
    """Near-optimal solving time: the answer is part of the question."""
    found = solve_order(problem, NativeSolver(), LIMIT)
    text = encode(problem)
    if not isinstance(found, Solved) or text is None:
        raise RuntimeError("a problem with a hidden order was not solved")
    order = found.order.tolist()
    answer = [f"(assert (< e{a} e{b}))" for a, b in pairwise(order)]
    solver = SmtSolver()
    done = solver.solve_text(problem, "\n".join([text, *answer]), time.monotonic() + LIMIT)
    return Spent(not _is_right(problem, done), solver.seconds["solve"])


def page(rows: Sequence[Row], seeds: int, command: str) -> str:
    """The whole page."""
    head = ("accesses", "NOST, ms", "CLAP-impl", *(f"CLAP-tc {level}" for level in LEVELS))
    head = (*head, "saved", "ours, no clocks", "ours, FUNC", "CLAP-tc FUNC over ours")
    return markdown.sections(
        "# Solving order problems",
        f"Figures of {time.strftime('%Y-%m-%d')}, made by `{command}` on Python "
        f"{platform.python_version()}: synthetic runs of {THREADS} threads "
        f"(docs/internals/order-solver.md), medians of {seeds} seeds, processor time. As in "
        "ReCBuLC's figure 11, times are relative to NOST, the time that z3 takes when the "
        "problem includes its answer. "
        "*Saved* is what the clocks save of CLAP-impl's time at the slowest of the three levels. "
        f"z3 had {LIMIT:.0f} s for each problem. Every order was validated.",
        markdown.table(head, map(_cells, rows)),
        _growth(rows),
        "ReCBuLC says of its own programs (figure 11, section V.B), which it solves for path "
        "conditions, not for values:",
        markdown.table(("", "paper"), PAPER),
        "The programs differ, so only the shape can be compared: what clocks save grows with the "
        "length of the run, in the paper's figures as in ours. For the shortest runs they save "
        "nothing here. NOST is not a lower bound: an answer adds constraints, clocks remove some.",
        "`python -m benchmarks orders` has the bars: longer runs, more threads, hot cells.",
    )


def _cells(row: Row) -> tuple[object, ...]:
    def parts(spent: Spent) -> str:
        return ("more than " if spent.late else "") + times(spent.seconds / row.nost.seconds)

    least = "at least " if row.impl.late else ""
    return (
        row.accesses,
        f"{1000 * row.nost.seconds:.1f}",
        parts(row.impl),
        *(parts(spent) for spent in row.clocks.values()),
        f"{least}{100 * row.saved:.1f} %",
        parts(row.ours),
        parts(row.ours_with_clocks),
        times(row.clocks["FUNC"].seconds / row.ours_with_clocks.seconds),
    )


def times(ratio: float) -> str:
    """A ratio for a table."""
    return f"{ratio:.0f}x" if ratio >= 10 else f"{ratio:.2g}x"


def _growth(rows: Sequence[Row]) -> str:
    first, last = rows[0], rows[-1]

    def grows(one: Spent, two: Spent) -> str:
        return ("more than " if two.late else "") + times(two.seconds / one.seconds)

    return (
        f"From {first.accesses} to {last.accesses} accesses CLAP-impl's time grows "
        f"{grows(first.impl, last.impl)}, CLAP-tc's at FUNC "
        f"{grows(first.clocks['FUNC'], last.clocks['FUNC'])}, ours {grows(first.ours, last.ours)} "
        f"without clocks and {grows(first.ours_with_clocks, last.ours_with_clocks)} at FUNC."
    )


def main() -> int:
    """Measure all sizes and write the page."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.orders", description=__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="runs of each size (default: 5)")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="accesses of each run")
    parser.add_argument("--page", type=Path, default=PAGE, help="where to write the page")
    options = parser.parse_args()
    rows = []
    for accesses in map(int, options.sizes.split(",")):
        rows.append(measure(accesses, range(1, options.seeds + 1)))
        print(*_cells(rows[-1]), sep="  ", flush=True)
    command = " ".join(["python -m evaluation.orders", *sys.argv[1:]])
    options.page.write_text(page(rows, options.seeds, command))
    return 0


if __name__ == "__main__":
    sys.exit(main())
