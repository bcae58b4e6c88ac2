# SPDX-License-Identifier: Apache-2.0
"""How much a programmer has to look at before the bug is found (Bugaboo 6.2, table 2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from unsnarl.analyses.bugaboo.ranking import SiteRanking


class Inspections(NamedTuple):
    """What is looked at, the bug included, down a ranking."""

    points: float
    functions: float


def inspections(ranking: SiteRanking, is_bug: Callable[[int], bool]) -> Inspections | None:
    """Counts code points and their functions up to the first bug; None if none is ranked.

    Code points of equal rank are looked at in no particular order: what is counted is the mean over
    all orders. Before the first of b bugs come, of t other code points, t/(b + 1).

    Args:
        ranking: What to look through.
        is_bug: Whether the site of an index is part of the bug.
    """
    bugs = np.array([is_bug(site) for site in ranking.sites.tolist()], dtype=bool)
    if not bugs.any():
        return None
    value = ranking.values[bugs].min()
    above, level = ranking.values < value, ranking.values == value
    first_bugs = int((bugs & level).sum())
    others = int(level.sum()) - first_bugs
    points = float(above.sum()) + others / (first_bugs + 1) + 1
    return Inspections(points, _functions(ranking, above, level, bugs & level))


def _functions(
    ranking: SiteRanking, above: np.ndarray, level: np.ndarray, first_bugs: np.ndarray
) -> float:
    """Those above, and those of the bug's own level that come up before it or with it.

    Such a function is met if, of its code points and the bugs, the first one is its own.
    """
    met = set(ranking.functions[above].tolist())
    bugs = Counter(ranking.functions[first_bugs].tolist())
    members = Counter(ranking.functions[level].tolist())
    total = bugs.total()
    expected = [
        count / (count - bugs[function] + total)
        for function, count in members.items()
        if function not in met
    ]
    return len(met) + sum(expected)
