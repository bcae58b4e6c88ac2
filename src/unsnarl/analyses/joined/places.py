# SPDX-License-Identifier: Apache-2.0
"""Patterns as the joined ranking counts them: those that are open, by line rather than by site."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unsnarl.analyses.joined.ordered import open_patterns
from unsnarl.model.evidence import Comparison, Evidence, Places
from unsnarl.model.pattern import PATTERN, Patterns

WHICH = ("first", "other", "last")
# The points are those of lines; in place of the count, the row from which the sites' own can be
# had. The layout is the same: rows are many and wide, and copying them field by field is slow.
PLACED = np.dtype(
    [("row" if name == "count" else name, PATTERN[name]) for name in PATTERN.names or ()]
)


def placed(comparison: Comparison) -> Comparison:
    """The comparison with simplified patterns.

    A loop over `items()` reads the dict at two sites of one line: once to begin and once per turn.
    Counted apart, neither is in all failing runs.
    """
    return replace(
        comparison,
        failing=tuple(_simplified(run, comparison.places) for run in comparison.failing),
        passing=tuple(_simplified(run, comparison.places) for run in comparison.passing),
    )


def _simplified(run: Evidence, places: Places) -> Evidence:
    kept = np.flatnonzero(open_patterns(run.patterns, run.orders))
    rows: Patterns = run.patterns[kept].view(PLACED)
    rows["row"] = kept
    for which in WHICH:
        rows[f"{which}_point"] = places.line[rows[f"{which}_point"]]
    return replace(run, patterns=rows)
