# SPDX-License-Identifier: Apache-2.0
"""Fisher's exact test: could two arms of an experiment differ this much by chance?"""

from __future__ import annotations

from math import comb


def fisher(failed: int, runs: int, other_failed: int, other_runs: int) -> float:
    """The probability, if both arms fail alike, that the first fails this often or more."""
    total, failures = runs + other_runs, failed + other_failed
    ways = comb(total, failures)
    tail = sum(
        comb(runs, k) * comb(other_runs, failures - k)
        for k in range(failed, min(runs, failures) + 1)
        if failures - k <= other_runs
    )
    return tail / ways if ways else 1.0
