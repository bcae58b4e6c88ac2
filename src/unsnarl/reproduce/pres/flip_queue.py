# SPDX-License-Identifier: Apache-2.0
"""What to turn round next, after all that was learned from the runs before.

Each run that does not end as recorded gives back its accesses. Of the racing pairs that the sketch
leaves open one more is turned round in each of the next, alone and then on top of others.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

from unsnarl.model.constraint import Constraint
from unsnarl.reproduce.pres.flips import Flip, flips
from unsnarl.reproduce.pres.sketch import Sketch
from unsnarl.reproduce.pres.traced import Traced
from unsnarl.reproduce.recorded import Case
from unsnarl.runfile import RunFile

# A flip on top of others is worth this much of its worth, and a pair of points that was turned
# round before, in another occurrence, also only this much.
DEEPER = 0.3
REPEATED = 0.4
MOST_FLIPS = 4
MOST_OPEN = 2000  # candidates that are kept
# How far corrected times are off, usually, for the chances of flips: in ticks, or in numbers.
USUAL = {"clocks": 1000.0, "global": 0.5}


class FlipQueue:
    """Sets of flips that were not tried, the most promising first."""

    def __init__(self, sketch: Sketch, case: Case) -> None:
        self._sketch = sketch
        self._failing = case.failing
        self._blur = USUAL[case.record.how.order]
        self._open: list[tuple[float, int, tuple[Constraint, ...], Flip]] = []
        # Of equal worth the older entry comes first, and the heap compares no constraints.
        self._numbers = itertools.count()
        self._seen: set[frozenset[Any]] = {frozenset()}
        self._shapes: set[int] = set()
        self._turned: Counter[tuple[int, int]] = Counter()

    def next(self) -> tuple[Constraint, ...]:
        """The most promising set of flips that was not tried; () if there is none."""
        while self._open:
            negative, number, below, flip = heapq.heappop(self._open)
            # Its points may have been turned round since it was put here.
            fair = -self._worth(flip, below)
            if fair > negative and self._open and fair > self._open[0][0]:
                heapq.heappush(self._open, (fair, number, below, flip))
                continue
            self._turned[flip.points] += 1
            return (*below, flip.constraint)
        return ()

    def learn(self, run: RunFile | None, made: Sequence[Constraint], left: str = "") -> bool:
        """Put what may be turned round after a run among the candidates.

        Args:
            made: The flips that it was made with.
            left: The thread that has ended it, because it could not do what was recorded.

        Returns:
            Whether it was another run than all before, in all that matters.
        """
        if run is None or not len(run.trace):
            return False
        traced = Traced(run, self._sketch, left)
        shape = traced.shape()
        if shape in self._shapes:
            return False  # it teaches nothing
        if len(made) >= MOST_FLIPS:
            return True
        self._shapes.add(shape)
        for flip in flips(traced, self._failing, self._blur):
            below = _without(made, flip.constraint)
            key = frozenset(one.key for one in (*below, flip.constraint))
            if key in self._seen or len(self._open) > MOST_OPEN:
                continue
            self._seen.add(key)
            entry = (-self._worth(flip, below), next(self._numbers), below, flip)
            heapq.heappush(self._open, entry)
        return True

    def _worth(self, flip: Flip, below: Sequence[Constraint]) -> float:
        return flip.worth * REPEATED ** self._turned[flip.points] * DEEPER ** len(below)


def _without(made: Sequence[Constraint], new: Constraint) -> tuple[Constraint, ...]:
    """Without those that a new one replaces: its opposite, and waits for less at the same point."""
    return tuple(
        one
        for one in made
        if one.key != (new.hold.key, new.before.key)
        and (one.before.key, one.after.key) != (new.after.key, new.before.key)
        and (one.hold.key, one.before.path) != (new.hold.key, new.before.path)
    )
