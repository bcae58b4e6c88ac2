# SPDX-License-Identifier: Apache-2.0
"""Our own solver (native/solver/): the columns that it wants, and the solutions it returns."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unsnarl import _core
from unsnarl.errors import ToolError
from unsnarl.reproduce.orders.clocks import clock_orders, guesses
from unsnarl.reproduce.orders.problem import (
    Integers,
    Kind,
    OrderProblem,
    orders_of_threads,
    sections,
)
from unsnarl.reproduce.orders.solution import Solution, Solved, TimedOut, Unsatisfiable

SOLVED, UNSATISFIABLE = 0, 1
PHASES = ("saturation", "frontier", "cdcl")  # enum uns_order_phase
READS, WRITES = 1, 2  # enum uns_access


@dataclass(frozen=True)
class SolverEffort:
    """What the last problem cost."""

    variables: int = 0
    clauses: int = 0
    conflicts: int = 0
    rounds: int = 0


class NativeSolver:
    """Clock pruning, saturation, a short frontier search, CDCL over orders (docs/adr/0020).

    `steps` limits the frontier search; by default it grows with the problem, 0 leaves it out.
    `lag` is how many of CDCL's decisions are kept open behind its front before it goes back for
    the others. Neither changes a solution. `memory` is how many bytes it may use.
    """

    name = "native"

    def __init__(self, steps: int = -1, lag: int = 1000, memory: int | None = None) -> None:
        # Decisions further behind are frozen: otherwise a lemma of one literal undoes the whole run
        # (docs/internals/order-solver.md).
        self.steps, self.lag = steps, lag
        self.memory = _half_of_all() if memory is None else memory
        self.effort = SolverEffort()

    def solve(self, problem: OrderProblem, seconds: float) -> Solution:
        """An order, the proof that there is none, or neither in the given time.

        Raises:
            ToolError: The memory was over first.
        """
        limits = seconds, self.steps, self.lag, self.memory
        try:
            found = _core.solve_order(*_columns(problem), *limits)
        # No time-out: more seconds would not help (docs/internals/order-solver.md).
        except MemoryError:
            raise _out_of_memory(self.memory) from None
        status, phase, event, order, effort = found
        self.effort = SolverEffort(*effort)
        if status == SOLVED:
            return Solved(np.frombuffer(order, np.int32).astype(np.int64), by=PHASES[phase])
        if status == UNSATISFIABLE:
            return Unsatisfiable(() if event < 0 else (event,), by=PHASES[phase])
        return TimedOut(seconds)


def _half_of_all() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def _out_of_memory(most: int) -> ToolError:
    return ToolError(
        "solver-memory",
        f"the search for an order needs more than {most >> 20} MiB of memory",
        "record a shorter run, or at a finer level (--level), which leaves less to search for",
    )


def _columns(problem: OrderProblem) -> tuple[NDArray[Any], ...]:
    access, cell, begun, initial = _cells(problem)
    own = sections(problem)
    begins = np.flatnonzero(np.diff(own.lock, prepend=-1, append=-1)) if len(own.lock) else [0]
    pairs = [orders_of_threads(problem), clock_orders(problem)]
    sources, sinks = (np.concatenate(part) for part in zip(*pairs, strict=True))
    return (
        problem.first.astype(np.int32),
        access,
        cell,
        np.ascontiguousarray(problem.value),
        begun,
        initial,
        np.asarray(begins, np.int32),
        own.acquire.astype(np.int32),
        own.release.astype(np.int32),
        sources.astype(np.int32),
        sinks.astype(np.int32),
        guesses(problem),
    )


def _cells(problem: OrderProblem) -> tuple[NDArray[Any], ...]:
    """Accesses that matter, with cells numbered from 0, and the cells' first values."""
    access = np.zeros(problem.size, np.uint8)
    access[(problem.kind == Kind.READ) & problem.logged] = READS
    access[problem.kind == Kind.WRITE] = WRITES
    events = np.flatnonzero(access)
    names, numbers = _numbered(problem.object[events])
    cell = np.full(problem.size, -1, np.int32)
    cell[events] = numbers
    firsts = [problem.initial.get(name) for name in names.tolist()]
    begun = np.array([first is not None for first in firsts], np.uint8)
    return access, cell, begun, np.array([first or 0 for first in firsts], np.uint64)


def _numbered(names: Integers) -> tuple[Integers, Integers]:
    """The different names, sorted, and of each name which one of them it is."""
    span = int(names.max() - names.min()) + 1 if len(names) else 0
    if not 0 < span < 4 * len(names):
        return np.unique(names, return_inverse=True)
    # Cells that were numbered already need no sorting.
    low = names.min()
    used = np.zeros(span, np.bool_)
    used[names - low] = True
    return np.flatnonzero(used) + low, (np.cumsum(used) - 1)[names - low]
