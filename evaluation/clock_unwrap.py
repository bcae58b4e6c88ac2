# SPDX-License-Identifier: Apache-2.0
"""Counters of fewer bits start over at 0 (ReCBuLC III.B.3); here the rounds are counted offline.

The counters of the machines that we record on have 64 bits, so recording does without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def unwrap(ticks: NDArray[Any], bits: int, slack: int = 0) -> NDArray[np.int64]:
    """The stamps of one thread, in its order, as if the counter had never started over.

    A stamp below the one before it means that the counter has wrapped; a thread that was moved to a
    core whose clock is behind may fall back by `slack` without. Right as long as two stamps in a
    row are less than one round minus `slack` apart. 63 bits and more never wrap.
    """
    signed = np.asarray(ticks).astype(np.int64)
    if bits >= 63 or not len(signed):
        return signed
    steps = np.diff(signed)
    # A fall within the slack, across the border, looks like a leap of nearly a whole round.
    turns = (steps < -slack).astype(np.int64) - (steps >= (1 << bits) - slack)
    rounds = np.concatenate(([0], np.cumsum(turns)))
    return signed + (rounds << bits)


def lift(ticks: int, after: int, bits: int) -> int:
    """A thread's first stamp in the unwrapped time of its maker: the first time from `after` on.

    Right if the thread took it less than one round after its maker's stamp `after`.
    """
    if bits >= 63:
        return ticks
    return after + (ticks - after) % (1 << bits)
