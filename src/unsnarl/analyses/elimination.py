# SPDX-License-Identifier: Apache-2.0
"""More than one bug behind one signature: what is explained is set aside, the rest ranked again.

As cooperative bug isolation does with predicates (Liblit et al., PLDI 2005, section 3.4): the best
answer explains the failing runs that have it. If many have it not, another bug may be behind them,
and its answer would drown among those about the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from unsnarl.analyses.answer import Answer
from unsnarl.model.evidence import Comparison

# Fewer runs than this, or than this share of all, are noise: an edge keeps only latest times.
LEAST_RUNS = 3
LEAST_SHARE = 0.2
# The answer for the rest must be in most of it, else it explains nothing either.
EXPLAINS = 0.75
ROUNDS = 3

Rank = Callable[[Comparison], list[Answer]]


def explained(comparison: Comparison, ranking: Rank) -> list[Answer]:
    """The ranking of all failing runs; what best explains the rest comes next, round by round."""
    found = ranking(comparison)
    first: list[Answer] = found[:1]
    left = set(range(len(comparison.failing))).difference(*(one.runs for one in first))
    while len(first) < ROUNDS and found and len(left) >= _least(comparison):
        answer = _best_for(sorted(left), comparison, ranking)
        if answer is None:
            break
        # Reports announce answers with this feature as those for the runs that are left.
        features = {**answer.features, "round": float(len(first) + 1)}
        first.append(replace(answer, features=features))
        left -= set(answer.runs)
    shown = [_what(one) for one in first]
    # Every method limits its list: an answer for the rest takes the room of the last ones.
    return (first + [one for one in found if _what(one) not in shown])[: max(len(found), 1)]


def _least(comparison: Comparison) -> float:
    return max(LEAST_RUNS, LEAST_SHARE * len(comparison.failing))


def _best_for(runs: Sequence[int], comparison: Comparison, ranking: Rank) -> Answer | None:
    """The best answer for some of the failing runs, if it is in most of them."""
    rest = replace(comparison, failing=tuple(comparison.failing[run] for run in runs))
    best = next(iter(ranking(rest)), None)
    if best is None or len(best.runs) < EXPLAINS * len(runs):
        return None
    # The ranking of the rest counts its runs from 0; callers index all failing runs.
    return replace(
        best,
        runs=tuple(runs[run] for run in best.runs),
        threads={runs[run]: threads for run, threads in best.threads.items()},
    )


def _what(one: Answer) -> tuple[tuple[int, int], ...]:
    return tuple((line.point, line.role) for line in one.lines)
