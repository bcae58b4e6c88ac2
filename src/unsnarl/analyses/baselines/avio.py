# SPDX-License-Identifier: Apache-2.0
"""AVIO: unserialisable triples that occur in failing runs and in no passing one.

Passing runs teach which interleavings of two accesses by one thread are allowed; any other is
reported as a violation of atomicity. Lu, Tucek, Qin, Zhou: AVIO, ASPLOS 2006, as Recon (7) and
Falcon (4.4) describe it: a pattern that fails only sometimes is lost, and nothing is weighted.

Where we depart: AVIO does not rank; we put the triples of more failing runs first. Accesses are
those of the windows in the tracker, and by default also those that Falcon's windows merge away,
since AVIO looks at every access that follows another one of its thread.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unsnarl.analyses.answer import Answer
from unsnarl.analyses.falcon.ranking import Scored, to_answers
from unsnarl.analyses.falcon.table import Counting, table, top
from unsnarl.model.evidence import Comparison
from unsnarl.model.pattern import PatternKind

# Falcon's table 2 but for W1-W2-W1, which ends as the serial order W2-W1-W1 does.
KINDS = (PatternKind.RWR, PatternKind.WWR, PatternKind.WRW, PatternKind.RWW)


@dataclass(frozen=True)
class AvioOptions:
    """What to report.

    Attributes:
        fine: Whether accesses count that Falcon's windows merge into others.
        keep: So many triples are returned, the best ones.
    """

    fine: bool = True
    keep: int = 50


def answers(comparison: Comparison, options: AvioOptions | None = None) -> list[Answer]:
    """The triples of failing runs alone, those of most failing runs first; that is the score."""
    options = options or AvioOptions()
    counted = table(comparison, Counting(fine=options.fine))
    suspects = np.flatnonzero((counted.failed > 0) & (counted.passed == 0))
    triples = suspects[np.isin(counted.identity(suspects).kind, KINDS)]
    in_order = [
        lambda rows: -counted.failed[rows],
        *counted.in_site_order(comparison.points.order),
    ]
    best = top(triples, in_order, options.keep)
    scored = [
        Scored(row, float(failed), {"failed": float(failed)})
        for row, failed in zip(best.tolist(), counted.failed[best].tolist(), strict=True)
    ]
    return to_answers("avio", comparison, counted, scored)
