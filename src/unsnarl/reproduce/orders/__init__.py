# SPDX-License-Identifier: Apache-2.0
"""Order problems and their solvers: in which order did logged events happen?"""

from unsnarl.reproduce.orders.answer import Answer, Solved, TimedOut, Unsatisfiable
from unsnarl.reproduce.orders.problem import Event, Kind, OrderProblem, problem_of
from unsnarl.reproduce.orders.solver import OrderSolver, solve_order
from unsnarl.reproduce.orders.validate import violation

__all__ = [
    "Answer",
    "Event",
    "Kind",
    "OrderProblem",
    "OrderSolver",
    "Solved",
    "TimedOut",
    "Unsatisfiable",
    "problem_of",
    "solve_order",
    "violation",
]
