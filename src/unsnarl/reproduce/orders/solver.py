# SPDX-License-Identifier: Apache-2.0
"""The one interface of all solvers, and the check that none of them can bypass."""

from __future__ import annotations

from typing import Protocol

from unsnarl.errors import ToolError
from unsnarl.reproduce.orders.problem import OrderProblem
from unsnarl.reproduce.orders.solution import Solution, Solved
from unsnarl.reproduce.orders.validate import violation


class OrderSolver(Protocol):
    """Finds an order, proves that there is none, or runs out of time."""

    name: str

    def solve(self, problem: OrderProblem, seconds: float) -> Solution:
        """The solution within about so many seconds."""


def solve_order(problem: OrderProblem, solver: OrderSolver, seconds: float) -> Solution:
    """What the solver says, after the validator has looked at it."""
    solution = solver.solve(problem, seconds)
    if isinstance(solution, Solved):
        # No code is shared with any solver, so none can hide its own mistake (docs/adr/0020).
        wrong = violation(problem, solution.order.tolist())
        if wrong:
            raise ToolError(
                "internal-error", f"the solver {solver.name} gave a wrong order: {wrong}"
            )
    return solution
