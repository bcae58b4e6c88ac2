# SPDX-License-Identifier: Apache-2.0
"""What watching has cost, and what it may cost: processor time against processor time.

All the time that the process spends in a burst counts as ours, though the program gets on
meanwhile: nobody can measure how far it would have come without probes. So the share that is kept
here is an upper bound of the real overhead (docs/adr/0080).
"""

from __future__ import annotations

import time

# What cannot be measured has the rest: after a burst, calls of functions warm up again.
MARGIN = 0.85


class Ledger:
    """Seconds of the processor: spent on watching, and left to the program.

    Args:
        budget: The share that watching may have, of the program's own time.
        short_lived: The program may end before its budget has paid for the set-up: that is
            measured, and not charged.
    """

    def __init__(self, budget: float, short_lived: bool = False) -> None:
        self._budget = budget
        self._short_lived = short_lived
        self._start = time.process_time()
        self.spent = 0.0  # all of it
        self.set_up = 0.0  # ... of which making codes with probes, once for each file

    @property
    def left_to_program(self) -> float:
        """What the program had for itself, since it is watched."""
        return max(time.process_time() - self._start - self.spent, 0.0)

    @property
    def overhead(self) -> float:
        """The measured share: at most so much."""
        own = self.left_to_program
        return self.spent / own if own > 0 else 0.0

    @property
    def _allowed(self) -> float:
        return MARGIN * self._budget * self.left_to_program

    @property
    def _charged(self) -> float:
        return self.spent - (self.set_up if self._short_lived else 0.0)

    def affords(self, seconds: float) -> bool:
        """Whether so much more stays within the budget."""
        return self._charged + seconds <= self._allowed

    def wait_for(self, seconds: float) -> float:
        """How long to sleep until it does, if the program keeps one core busy."""
        missing = self._charged + seconds - self._allowed
        return max(missing / self._budget, 0.0)
