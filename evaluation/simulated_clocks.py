# SPDX-License-Identifier: Apache-2.0
"""Simulated clocks: their skew is known, so what is computed from their stamps can be judged.

A clock shows the true time plus its offset, rounded down to its own steps: two clocks of one offset
may step at different moments. A counter of few bits begins again at 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unsnarl.recording.clocks.observed import STAMPS

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class SimulatedClock:
    """The clock of one core.

    Attributes:
        offset: What it is ahead of the true time.
        grain: Its step.
        phase: When it steps, from 0 to `grain` - 1.
        bits: After so many it begins again.
    """

    offset: int = 0
    grain: int = 1
    phase: int = 0
    bits: int = 64

    def read(self, moment: int) -> int:
        """What it shows at a moment of true time."""
        stepped = (moment + self.phase) // self.grain * self.grain
        return (stepped - self.phase + self.offset) % (1 << self.bits)


def messages(
    clocks: tuple[SimulatedClock, SimulatedClock], sent: Iterable[tuple[int, int, int]]
) -> NDArray[np.void]:
    """The stamps of messages: each has a sender (0 or 1), a moment, and takes so long."""
    rows = [
        (clocks[who].read(moment), clocks[1 - who].read(moment + takes), who, 1 - who)
        for who, moment, takes in sent
    ]
    return np.array(rows, STAMPS)


@dataclass(frozen=True)
class Trigger:
    """Figure 6 on three simulated cores: TS2 - TS1 = d + ε ± I (equation 4).

    Attributes:
        skew: d.
        delay: I, of who hears of the flag later: its mean and its spread.
        loop: ε: the two spin loops are left at moments that differ by so much, at most.
        interrupted: How often an interrupt makes nonsense of a run (factor 3).
        first: How often the first worker hears of it first.
    """

    skew: float
    delay: tuple[float, float] = (55.0, 8.0)
    loop: float = 10.0
    interrupted: float = 0.001
    first: float = 0.5

    def differences(self, runs: int, seed: int) -> NDArray[np.int64]:
        """What `runs` runs of the tester would measure."""
        random = np.random.default_rng(seed)
        sign = np.where(random.random(runs) < self.first, 1, -1)
        late = np.abs(random.normal(*self.delay, runs))
        found = self.skew + random.uniform(-self.loop, self.loop, runs) + sign * late
        struck = random.random(runs) < self.interrupted
        found[struck] += random.choice((-1, 1), int(struck.sum())) * random.uniform(
            2_000, 100_000, int(struck.sum())
        )
        return np.asarray(np.round(found), np.int64)
