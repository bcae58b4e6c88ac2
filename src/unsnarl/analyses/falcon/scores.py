# SPDX-License-Identifier: Apache-2.0
"""Formulas for suspiciousness, from the numbers of runs that have a pattern (Falcon 3.2)."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

Formula = Literal["jaccard", "tarantula", "ochiai"]
Runs = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]


def suspiciousness(
    failed: Runs, passed: Runs, failing: int, passing: int, formula: Formula = "jaccard"
) -> Scores:
    """How suspicious patterns are: from 0, never in a failing run, to 1.

    Args:
        failed: How many failing runs have each pattern.
        passed: How many passing runs have it.
        failing: How many runs fail.
        passing: How many runs pass.
        formula: The paper's choice is the Jaccard index: Tarantula gives its best score to whatever
            happened in a single failing run alone.
    """
    if formula == "jaccard":
        # Falcon 3.2, equation 2.
        return _ratio(failed, failing + passed)
    if formula == "ochiai":
        return _ratio(failed, np.sqrt(failing * (failed + passed)))
    # Falcon 3.2, equation 1.
    share_failed, share_passed = failed / max(failing, 1), passed / max(passing, 1)
    return _ratio(share_failed, share_failed + share_passed)


def _ratio(part: npt.NDArray[np.number], whole: npt.NDArray[np.number]) -> Scores:
    """0 where there is nothing to divide by: no run has the pattern."""
    scores = np.zeros(len(part), dtype=np.float64)
    np.divide(part, whole, out=scores, where=whole > 0)
    return scores
