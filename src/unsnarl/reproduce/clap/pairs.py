# SPDX-License-Identifier: Apache-2.0
"""Pairs of choices that no order allows, found without a solver.

That a read saw a write orders it with the other writes of the cell that are known to be before or
after one of the two. Two choices cannot both be, if the orders that they bring go in a circle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from unsnarl.reproduce.clap.sightings import FIRST
from unsnarl.reproduce.orders.closure import OrderClosure

Chosen = tuple[int, int]  # a read, and the write that it saw, or FIRST


class Pairs:
    """The orders that choices bring.

    Args:
        choices: The candidates of each read.
        writes: All writes of the read's cell.
    """

    def __init__(
        self,
        closure: OrderClosure,
        choices: Mapping[int, Sequence[int]],
        writes: Mapping[int, Sequence[int]],
    ) -> None:
        self._closure = closure
        self._chosen = [(read, write) for read, found in choices.items() for write in found]
        rows = [
            (at, before, after)
            for at, (read, write) in enumerate(self._chosen)
            for before, after in self._brought(read, write, writes[read])
        ]
        self._owner, self._before, self._after = np.array(rows, np.int64).reshape(-1, 3).T
        self._read = np.array([read for read, _ in self._chosen], np.int64)[self._owner]
        self._thread, self._position = np.array(closure.thread), np.array(closure.position)

    def _brought(self, read: int, write: int, writes: Sequence[int]) -> Iterator[Chosen]:
        closure = self._closure
        if write == FIRST:
            orders = [(read, other) for other in writes]
        else:
            others = [other for other in writes if other != write]
            orders = [(write, read)]
            orders += [(other, write) for other in others if closure(other, read)]
            orders += [(read, other) for other in others if closure(write, other)]
        return ((a, b) for a, b in orders if not closure(a, b))

    def against(self, read: int) -> set[tuple[Chosen, Chosen]]:
        """All pairs of a choice of this read and one of another that exclude each other."""
        mine = np.flatnonzero(self._read == read)
        there = self._reaches(self._after[mine], self._before)
        back = self._reaches(self._after, self._before[mine]).T
        ones, others = np.nonzero(there & back & (self._read != read))
        # One number for each pair: to sort columns takes a hundred times as long.
        count = len(self._chosen)
        codes = np.unique(self._owner[mine[ones]] * count + self._owner[others])
        pairs = zip((codes // count).tolist(), (codes % count).tolist(), strict=True)
        return {(self._chosen[one], self._chosen[other]) for one, other in pairs}

    def _reaches(self, sources: NDArray[np.int64], sinks: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each source is each sink, or known to be before it."""
        before = self._closure.before[sinks][:, self._thread[sources]].T
        same = sources[:, None] == sinks[None, :]
        found: NDArray[np.bool_] = (before > self._position[sources][:, None]) | same
        return found
