# SPDX-License-Identifier: Apache-2.0
"""The cheapest set that has an element of every clause: branch and bound, small as its inputs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeVar

Item = TypeVar("Item", bound=Hashable)

# Nodes to look at; then the best set so far must do. The zoo's problems take a few hundred.
PATIENCE = 20_000


def cheapest(clauses: Sequence[AbstractSet[Item]], costs: Mapping[Item, float]) -> list[Item]:
    """The items, in the order of `costs`; clauses must not be empty."""
    columns = _columns(clauses, costs)
    search = _BranchAndBound(
        [costs[item] for item in columns], list(columns.values()), len(clauses)
    )
    items = list(columns)
    chosen = {items[at] for at in search.best}
    return [item for item in costs if item in chosen]


def _columns(clauses: Sequence[AbstractSet[Item]], costs: Mapping[Item, float]) -> dict[Item, int]:
    """Bitmask of clauses per item; of items with the same mask only the cheapest."""
    best: dict[int, Item] = {}
    for item in costs:
        mask = sum(1 << at for at, clause in enumerate(clauses) if item in clause)
        # An item that is in the same clauses and costs more is never the better choice.
        if mask and (mask not in best or costs[item] < costs[best[mask]]):
            best[mask] = item
    return {item: mask for mask, item in best.items()}


class _BranchAndBound:
    def __init__(self, costs: list[float], masks: list[int], clauses: int) -> None:
        self._costs = costs
        self._masks = masks
        self._having = [
            sorted((at for at, mask in enumerate(masks) if mask >> bit & 1), key=costs.__getitem__)
            for bit in range(clauses)
        ]
        self._patience = PATIENCE
        # A bound to begin with cuts off branches at once; if patience ends, it is the answer.
        self.best = self._greedy((1 << clauses) - 1)
        self._bound = sum(costs[at] for at in self.best)
        self._extend((1 << clauses) - 1, [], 0.0)

    def _greedy(self, left: int) -> list[int]:
        chosen = []
        while left:
            at = min(
                (at for at, mask in enumerate(self._masks) if mask & left),
                key=lambda at: self._costs[at] / (self._masks[at] & left).bit_count(),
            )
            chosen.append(at)
            left &= ~self._masks[at]
        return chosen

    def _extend(self, left: int, chosen: list[int], cost: float) -> None:
        if not left:
            if cost < self._bound:
                self._bound, self.best = cost, list(chosen)
            return
        self._patience -= 1
        if self._patience < 0 or cost + self._least(left) >= self._bound:
            return
        # The clause with the fewest items has to be hit anyway, and branches least.
        for at in self._having[self._narrowest(left)]:
            if cost + self._costs[at] < self._bound:
                chosen.append(at)
                self._extend(left & ~self._masks[at], chosen, cost + self._costs[at])
                chosen.pop()

    def _narrowest(self, left: int) -> int:
        bits = [bit for bit in range(len(self._having)) if left >> bit & 1]
        return min(bits, key=lambda bit: len(self._having[bit]))

    def _least(self, left: int) -> float:
        """What clauses without a common item cost at least."""
        total = 0.0
        for bit in range(len(self._having)):
            if left >> bit & 1:
                total += self._costs[self._having[bit][0]]
                for at in self._having[bit]:
                    left &= ~self._masks[at]
        return total
