# SPDX-License-Identifier: Apache-2.0
"""How often a failure came before an edit, and whether so many fresh runs could miss it.

A good fix often rewrites the very lines that the proven order is about: then neither schedule nor
constraints can be tried, and fresh runs are the only evidence. They are worth what they would have
shown of the program as it was (docs/adr/0049).
"""

from __future__ import annotations

import math
from collections import Counter

import msgspec

from unsnarl.campaigns.neighbours import NEAR
from unsnarl.campaigns.store import Store
from unsnarl.campaigns.tally import HUNT
from unsnarl.model.run import Switch

# The chance to miss a failure that is still there must be below this ...
MOST_CHANCE = 0.001
# ... and so many runs must have been made, however often it failed: an edit may make it rarer.
FEWEST_RUNS = 100
# One-sided, 95 %.
DEVIATIONS = 1.645


class OldRate(msgspec.Struct, frozen=True):
    """So many of a campaign's runs in one switching mode failed in one way."""

    switch: Switch
    failed: int
    runs: int

    @property
    def least(self) -> float:
        """The smallest rate that these figures allow at 95 % confidence (Wilson)."""
        square = DEVIATIONS * DEVIATIONS
        share = self.failed / self.runs
        spread = math.sqrt(share * (1 - share) / self.runs + square / (4 * self.runs**2))
        centre = share + square / (2 * self.runs)
        return max(0.0, (centre - DEVIATIONS * spread) / (1 + square / self.runs))

    def chance_to_miss(self, runs: int) -> float:
        """That none of so many runs fails although nothing has changed."""
        return (1.0 - self.least) ** runs

    @property
    def runs_needed(self) -> int:
        """How many passing runs rule the failure out."""
        if self.least >= 1.0:
            return FEWEST_RUNS
        return max(FEWEST_RUNS, math.ceil(math.log(MOST_CHANCE) / math.log1p(-self.least)))


def old_rates(store: Store) -> dict[str, OldRate]:
    """By signature, in the mode in which it failed most often."""
    # Runs near those that failed say nothing about how often it comes.
    hunted = (one.record for one in store.runs() if one.phase == HUNT)
    records = [record for record in hunted if record.strategy != NEAR]
    runs = Counter(one.switch for one in records)
    failed = Counter((one.signature, one.switch) for one in records if one.label != "pass")
    rates: dict[str, OldRate] = {}
    for (signature, switch), count in failed.most_common():
        rates.setdefault(signature, OldRate(switch, count, runs[switch]))
    return rates
