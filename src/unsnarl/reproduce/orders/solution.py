# SPDX-License-Identifier: Apache-2.0
"""What a solver says of an order problem. Impossible and not finished are different solutions."""

from __future__ import annotations

from dataclasses import dataclass

from unsnarl.reproduce.orders.problem import Integers


@dataclass(frozen=True, eq=False)
class Solved:
    """An order was found.

    Attributes:
        order: All events, by number, in that order.
        by: The phase of the solver that found it.
    """

    order: Integers
    by: str = ""


@dataclass(frozen=True)
class Unsatisfiable:
    """There is no such order: the log, or the clocks' range, is wrong.

    Attributes:
        events: Events that contradict one another, where the solver has them at hand.
        by: The phase of the solver that proved it.
    """

    events: tuple[int, ...] = ()
    by: str = ""


@dataclass(frozen=True)
class TimedOut:
    """Nothing is known: the time was over first.

    Attributes:
        seconds: The time that was given.
    """

    seconds: float


Solution = Solved | Unsatisfiable | TimedOut
