# SPDX-License-Identifier: Apache-2.0
"""What Recon and Falcon themselves say of the accesses of an answer, and what only Recon sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from unsnarl.analyses import falcon
from unsnarl.analyses.answer import Answer
from unsnarl.analyses.recon.answers import answers as reconstructions
from unsnarl.model.evidence import Comparison
from unsnarl.model.report import Support

# What only Recon sees (the order of lock operations, mostly) says less about data than a pattern.
RECON_WEIGHT = 0.5

Ends = tuple[int, int]


def supported(found: Sequence[Answer], comparison: Comparison) -> list[Answer]:
    """The answers, each with the best of Falcon's patterns that has the same lines."""
    line = comparison.points.line
    patterns: dict[tuple[int, ...], Support] = {}
    for rank, one in enumerate(falcon.answers(comparison), 1):
        lines = tuple(int(line[each.point]) for each in one.lines)
        patterns.setdefault(lines, Support("falcon", rank, one.score, one.features))
    return [_with(one, patterns.get(tuple(_lines(one, comparison)))) for one in found]


def with_reconstructions(found: Sequence[Answer], comparison: Comparison) -> list[Answer]:
    """Joins reconstructions around a conflict of an answer with it; the others come in between."""
    ends = [_conflicts(one, comparison) for one in found]
    joined = list(found)
    rest = []
    for rank, one in enumerate(reconstructions(comparison), 1):
        same = [at for at, conflicts in enumerate(ends) if _ends(one, comparison) in conflicts]
        support = Support("recon", rank, one.score, one.features)
        for at in same:
            # Reconstructions come best first: the first one that fits is the best.
            if not any(other.method == "recon" for other in joined[at].support):
                joined[at] = _with(joined[at], support)
        if not same:
            rest.append(_scored(one, support, comparison))
    # The sort is stable: of equals, what patterns show stays ahead of what only Recon sees.
    return sorted([*joined, *rest], key=lambda one: -round(one.score, 2))


def _with(one: Answer, support: Support | None) -> Answer:
    return replace(one, support=(*one.support, support)) if support else one


def _scored(one: Answer, support: Support, comparison: Comparison) -> Answer:
    """A reconstruction on the scale of patterns."""
    jaccard = len(one.runs) / (len(comparison.failing) + one.passing)
    features = {**one.features, "jaccard": jaccard}
    score = RECON_WEIGHT * jaccard
    return replace(one, method="joined", score=score, features=features, support=(support,))


def _lines(one: Answer, comparison: Comparison) -> list[int]:
    return [int(comparison.points.line[each.point]) for each in one.lines]


def _conflicts(one: Answer, comparison: Comparison) -> set[Ends]:
    """The lines of every two accesses by different threads, one after the other."""
    lines = _lines(one, comparison)
    return {
        (lines[first], lines[then])
        for then in range(len(lines))
        for first in range(then)
        if one.lines[first].role != one.lines[then].role
    }


def _ends(one: Answer, comparison: Comparison) -> Ends:
    source, sink = (
        next(each.point for each in one.lines if each.region == region)
        for region in ("source", "sink")
    )
    return int(comparison.points.line[source]), int(comparison.points.line[sink])
