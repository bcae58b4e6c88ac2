# SPDX-License-Identifier: Apache-2.0
"""Which hypotheses become answers, in which order, and which of them are one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from unsnarl.analyses.answer import Answer
from unsnarl.analyses.falcon.table import table
from unsnarl.analyses.joined import answers as showing
from unsnarl.analyses.joined.conflict_cycles import Key, cycles
from unsnarl.analyses.joined.hypotheses import Hypothesis, pattern_hypotheses
from unsnarl.analyses.joined.line_merge import by_line
from unsnarl.analyses.joined.support import supported, with_reconstructions
from unsnarl.model.evidence import Comparison

FINDINGS = 10
# A cycle must separate the runs better than each of its pairs by more than chance would.
BETTER = 0.02
# A pair is shown with the conflict that closes it to a cycle if so many of its runs have that.
COMPLETES = 0.75
# A thread that is left over in so many passing runs is one that serves until the end.
USUAL = 0.2
# In so many failing runs somebody has to be left over for that to mean something.
ALWAYS = 0.8
# What is not about any of these threads is rather what brought them there.
APART_WEIGHT = 0.85
# Scores closer than this are alike: then it counts what is shown and when it was complete.
DIGITS = 2


class RankedHypothesis(NamedTuple):
    """A hypothesis, and the one that is shown for it: itself, or the cycle that completes it."""

    hypothesis: Hypothesis
    shown: Hypothesis


def answers(comparison: Comparison, *, with_cycles: bool = True) -> list[Answer]:
    """Ranks the interleavings that separate failing from passing runs, best first.

    Cycles take nearly all of the time: patterns alone are an answer where there is none for them.
    """
    counting = by_line(comparison.points)
    counted = table(comparison, counting)
    patterns = pattern_hypotheses(comparison, counted)
    pairs = [one for one in patterns if len(one.points) == 2]
    closed = cycles(comparison, counting, pairs) if with_cycles else {}
    candidates = [RankedHypothesis(one, one) for one in patterns if len(one.points) > 2]
    around = _by_pair(closed)
    candidates += [
        RankedHypothesis(one, _completed(one, around.get(one.points, []))) for one in pairs
    ]
    candidates += [RankedHypothesis(one, one) for one in _better(pairs, closed)]
    _weigh_by_end(candidates, comparison)
    candidates.sort(key=_order)
    found = [showing.answer(one.hypothesis, one.shown, comparison) for one in _distinct(candidates)]
    return with_reconstructions(supported(found, comparison), comparison)[:FINDINGS]


def _weigh_by_end(candidates: Iterable[RankedHypothesis], comparison: Comparison) -> None:
    """Where threads of failing runs do not come to their end, it is about these."""
    ends = Counter(path for one in comparison.passing for path in set(one.unended.values()))
    usual = {path for path, count in ends.items() if count > USUAL * len(comparison.passing)}
    stuck = [
        {at for at, path in one.unended.items() if path not in usual} for one in comparison.failing
    ]
    if sum(map(bool, stuck)) < ALWAYS * len(stuck):
        return
    for candidate in candidates:
        one = candidate.hypothesis
        with_it = (
            any(access.thread in stuck[run] for access in found)
            for run, found in one.occurrences.items()
        )
        if not any(with_it):
            one.score *= APART_WEIGHT


def _order(candidate: RankedHypothesis) -> tuple[float, int, float, float, float, tuple[int, ...]]:
    """Best score first; then triples, cycles, pairs; then what was complete first."""
    one = candidate.hypothesis
    # By the number of accesses; six are a ring of three threads (docs/adr/0018).
    shape = {3: 0, 4: 1, 6: 2, 2: 3}[len(one.points)]
    # What follows from a cause is complete later, so the earlier one wins (docs/adr/0011). Points
    # come last, for a ranking that repeats.
    return (-round(one.score, DIGITS), shape, one.end, one.second, one.span, one.points)


def _better(pairs: Iterable[Hypothesis], closed: dict[Key, Hypothesis]) -> list[Hypothesis]:
    """The cycles that say more than their pairs do."""
    best = {pair.points: pair.jaccard for pair in pairs}
    return [
        cycle
        for key, cycle in closed.items()
        if cycle.jaccard > max(best.get(pair, 0.0) for pair in _pairs(key)) + BETTER
    ]


def _pairs(key: Key) -> list[tuple[int, ...]]:
    return [key[at : at + 2] for at in range(0, len(key), 2)]


def _by_pair(closed: dict[Key, Hypothesis]) -> dict[tuple[int, ...], list[Hypothesis]]:
    around: dict[tuple[int, ...], list[Hypothesis]] = {}
    for key, cycle in closed.items():
        for pair in _pairs(key):
            around.setdefault(pair, []).append(cycle)
    return around


def _completed(pair: Hypothesis, around: Sequence[Hypothesis]) -> Hypothesis:
    """The tightest cycle that the pair is part of nearly always, or the pair itself.

    Why was it too late, or too early? Because the thread had looked at something else before.
    """
    runs = pair.occurrences.keys()
    common = {at: len(runs & cycle.occurrences.keys()) for at, cycle in enumerate(around)}
    nearly_always = [at for at, count in common.items() if count >= COMPLETES * len(runs)]
    # What has more weight says more; of equal ones the tightest.
    best = min(
        nearly_always,
        key=lambda at: (-common[at], -around[at].weight, around[at].span, around[at].points),
        default=-1,
    )
    return pair if best < 0 else around[best]


def _distinct(candidates: Sequence[RankedHypothesis]) -> list[RankedHypothesis]:
    """Leaves out what a better one shows already: the same lines, or a pair of them."""
    kept: list[RankedHypothesis] = []
    shown: list[showing.Shown] = []
    for one in candidates:
        lines = showing.shown(one.shown)
        if not any(showing.is_part(lines, other) for other in shown):
            kept.append(one)
            shown.append(lines)
        if len(kept) == FINDINGS:
            break
    return kept
