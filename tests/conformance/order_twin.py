# SPDX-License-Identifier: Apache-2.0
"""All orders of a tiny problem, tried one after the other: the oracle of all solvers."""

from __future__ import annotations

from unsnarl.reproduce.orders import OrderProblem, violation


def any_order(problem: OrderProblem) -> list[int] | None:
    """An order that the validator accepts, or None after all of them were tried."""
    return _extended(problem, [], problem.first[:-1].tolist())


def _extended(problem: OrderProblem, begun: list[int], nexts: list[int]) -> list[int] | None:
    if len(begun) == problem.size:
        return None if violation(problem, begun) else begun
    for thread, event in enumerate(nexts):
        if event < problem.first[thread + 1]:
            rest = [*nexts[:thread], event + 1, *nexts[thread + 1 :]]
            found = _extended(problem, [*begun, event], rest)
            if found is not None:
                return found
    return None
