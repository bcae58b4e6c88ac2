# SPDX-License-Identifier: Apache-2.0
"""Is there a serial order of a program's calls that gives what threads gave?

Linearisability by replay (Wing and Gong, 1993), without real time between threads: a serial order
keeps the order of each thread's own calls, and those before and after the threads stay there. Each
order is executed with a fresh object in a process of its own, so a class needs no model. An outcome
that no order gives is wrong only if the orders give the same when they are repeated at other
addresses, another time of day and with other random numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from unsnarl.stress.program import CallProgram, Key, Order, ProgramOutcome, differences, key_of
from unsnarl.stress.runs import BATCH, Runs

SHIFT = 1
OTHER_DRAWS = (2, 3)


class Oracle:
    """Judges outcomes.

    Attributes:
        masked: Methods and parts of the state that give something else whenever they are asked.
    """

    def __init__(self, runs: Runs) -> None:
        self.masked: frozenset[str] = frozenset()
        self._runs = runs
        self._serial: dict[CallProgram, SerialOutcomes] = {}

    def serial(self, program: CallProgram) -> SerialOutcomes:
        """What serial orders of a program give, as far as they were tried."""
        return self._serial.setdefault(program, SerialOutcomes(program, self._runs))

    def is_wrong(self, program: CallProgram, outcome: ProgramOutcome) -> bool:
        """Whether no serial order gives this, although all of them end and can be repeated."""
        serial = self.serial(program)
        if self._is_given(serial, outcome):
            return False
        self.masked |= serial.unrepeatable()
        if self._is_given(serial, outcome):
            return False
        # A call that waits for ever in some order may do so in threads, too: nothing can be said.
        return not any(one.hangs for one in serial.outcomes())

    def _is_given(self, serial: SerialOutcomes, outcome: ProgramOutcome) -> bool:
        wanted = self.key(serial.program, outcome)
        found = self._keys(serial, serial.strict())
        while wanted not in found and serial.more(outcome.ended):
            found = self._keys(serial, serial.strict())
        return wanted in found or wanted in self._keys(serial, serial.comparable(outcome))

    def key(self, program: CallProgram, outcome: ProgramOutcome) -> Key:
        """What is compared of an outcome."""
        return key_of(outcome, program, self.masked)

    def _keys(self, serial: SerialOutcomes, outcomes: Iterable[ProgramOutcome]) -> set[Key]:
        return {self.key(serial.program, one) for one in outcomes}


class SerialOutcomes:
    """What the serial orders of one program give; they are tried when somebody asks."""

    def __init__(self, program: CallProgram, runs: Runs) -> None:
        self.program = program
        self._runs = runs
        self._left = program.orders()
        self._found: dict[Order, ProgramOutcome] = {}
        self._late: list[ProgramOutcome] = []
        self._is_repeated = False

    def outcomes(self) -> list[ProgramOutcome]:
        """All that are known by now."""
        return [*self._found.values(), *self._late]

    def strict(self) -> list[ProgramOutcome]:
        """Those in which no call waited for another one."""
        return [one for one in self.outcomes() if not one.stood and not one.hangs]

    def comparable(self, outcome: ProgramOutcome) -> list[ProgramOutcome]:
        """What an outcome is compared with, when all orders were tried.

        A call that waits takes effect after what it waited for, so an order in which it comes later
        gives the same. Only where there is none, as at a barrier, or where threads hang, do orders
        count in which calls wait.
        """
        return (not outcome.hangs and self.strict()) or self.outcomes()

    def more(self, likely: Order) -> Sequence[ProgramOutcome]:
        """Of the next few orders, first of all of the likely one; none if all were tried."""
        if likely in self._left:
            self._left.remove(likely)
            orders = [likely]
        else:
            orders, self._left = self._left[:BATCH], self._left[BATCH:]
        found = dict(zip(orders, self._runs.in_order(self.program, orders), strict=True))
        self._found |= found
        late = self._others([order for order, one in found.items() if one.stood])
        self._late += late
        return [*found.values(), *late]

    def _others(self, orders: Sequence[Order]) -> list[ProgramOutcome]:
        """What else comes of orders in which calls waited.

        A time limit may come to its end, and of several that wait another one may go on.
        """
        if not orders:
            return []
        late = self._runs.in_order(self.program, orders, long=True)
        late = [one for one in late if not one.hangs]
        return late + [
            one
            for draw in OTHER_DRAWS
            for one in self._runs.in_order(self.program, orders, draw=draw)
        ]

    def unrepeatable(self) -> frozenset[str]:
        """What differs if the orders are repeated; asked when all were tried."""
        if self._is_repeated:
            return frozenset()
        self._is_repeated = True
        orders = list(self._found)
        repeated = self._runs.in_order(self.program, orders, shift=SHIFT)
        rows = list(zip((self._found[order] for order in orders), repeated, strict=True))
        # Where calls waited, who goes on is not decided by the order: one more outcome of it.
        self._late += [other for one, other in rows if one.stood or other.stood]
        return frozenset().union(
            *(
                differences(one, other, self.program)
                for one, other in rows
                if not one.stood and not other.stood
            )
        )
