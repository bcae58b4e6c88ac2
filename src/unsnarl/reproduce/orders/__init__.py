# SPDX-License-Identifier: Apache-2.0
"""Order problems and their solvers: in which order did logged events happen?"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from unsnarl.reproduce.orders.problem import Kind, OrderEvent, OrderProblem, problem_of
from unsnarl.reproduce.orders.solution import Solution, Solved, TimedOut, Unsatisfiable
from unsnarl.reproduce.orders.solver import OrderSolver, solve_order
from unsnarl.reproduce.orders.validate import violation

if TYPE_CHECKING:
    from unsnarl.reproduce.orders.native import NativeSolver
    from unsnarl.reproduce.orders.smt import SmtSolver

__all__ = [
    "Kind",
    "NativeSolver",
    "OrderEvent",
    "OrderProblem",
    "OrderSolver",
    "SmtSolver",
    "Solution",
    "Solved",
    "TimedOut",
    "Unsatisfiable",
    "problem_of",
    "solve_order",
    "violation",
]

# Loaded when they are asked for: whoever has one solver need not load the other. z3 itself is only
# loaded by the first problem that is given to it.
_SOLVERS = {
    "NativeSolver": "unsnarl.reproduce.orders.native",
    "SmtSolver": "unsnarl.reproduce.orders.smt",
}


def __getattr__(name: str) -> Any:
    if name in _SOLVERS:
        return getattr(import_module(_SOLVERS[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
