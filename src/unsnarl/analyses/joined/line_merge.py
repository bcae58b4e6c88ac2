# SPDX-License-Identifier: Apache-2.0
"""Patterns as the joined ranking counts them: those that are open, by line rather than by site."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from unsnarl.analyses.falcon.table import Counting
from unsnarl.model.evidence import Evidence, PointTable
from unsnarl.model.ordered import open_patterns
from unsnarl.model.pattern import Patterns


def by_line(points: PointTable) -> Counting:
    """Which patterns count, and as what.

    A loop over `items()` reads the dict at two sites of one line: once to begin and once per turn.
    Counted apart, neither is in all failing runs.
    """
    masks: dict[int, tuple[Patterns, npt.NDArray[np.bool_]]] = {}

    def open_in(run: Evidence) -> npt.NDArray[np.bool_]:
        # Asked several times per run; the patterns are kept alive, so that their id stays theirs.
        key = id(run.patterns)
        if key not in masks:
            masks[key] = (run.patterns, open_patterns(run.patterns, run.orders))
        return masks[key][1]

    return Counting(fine=True, line=points.line, only=open_in)
