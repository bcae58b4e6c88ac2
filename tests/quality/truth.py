# SPDX-License-Identifier: Apache-2.0
"""The judge of findings, where tests look for it; its home is the evaluation."""

from evaluation.truth import (
    REGIONS,
    Bug,
    Cause,
    TruePoint,
    Verdict,
    judge,
    load_bug,
    load_zoo,
    rank_of_truth,
)

__all__ = [
    "REGIONS",
    "Bug",
    "Cause",
    "TruePoint",
    "Verdict",
    "judge",
    "load_bug",
    "load_zoo",
    "rank_of_truth",
]
