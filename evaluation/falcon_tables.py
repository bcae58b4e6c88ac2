# SPDX-License-Identifier: Apache-2.0
"""Falcon's tables 4 and 5, redone on one case."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evaluation.cases import Case, Points, place, rank_of
from evaluation.results import FalconDraw
from unsnarl.analyses.answer import Answer
from unsnarl.analyses.falcon import Table, suspiciousness, table
from unsnarl.analyses.methods import rank_with
from unsnarl.model.pattern import PatternKind


def measure(case: Case) -> FalconDraw:
    """All figures of Falcon on one case, CCI's beside them."""
    counted = table(case.comparison)
    rows = _of_type(case, counted)
    failed, passed = counted.failed[rows], counted.passed[rows]
    scores = suspiciousness(failed, passed, counted.failing, counted.passing)
    answers = rank_with("falcon", case.comparison)
    told = [case.told(answer) for answer in answers]
    rank, part = rank_of(place(case, told)), rank_of_part(case, told)
    chosen = rank or part
    return FalconDraw(
        highest=float(scores.max(initial=0.0)),
        patterns=len(rows),
        in_failing=int((failed > 0).sum()),
        only_failing=int(((failed > 0) & (passed == 0)).sum()),
        rank=rank,
        part=part,
        pattern=notation(told[chosen - 1]) if chosen else "",
        cci=_cci_ranks(case, answers[chosen - 1]) if chosen else (),
    )


def _of_type(case: Case, counted: Table) -> np.ndarray:
    """As in the paper: the pairs for order violations, the triples for all others."""
    triple = counted.identity().kind >= PatternKind.RWR
    return np.flatnonzero(~triple if case.bug.type == "order" else triple)


def rank_of_part(case: Case, told: Sequence[Points]) -> int | None:
    """The first pattern made of true accesses alone, in the order and the threads of the cause."""
    for rank, points in enumerate(told, 1):
        true = [case.true_points(point) for point in points]
        present = sorted({at for found in true for at in found})
        if all(true) and len(present) == len(points) and case.judge(points, present).tells:
            return rank
    return None


def notation(points: Points) -> str:
    """As the paper writes patterns: R1-W2-R1."""
    return "-".join(f"{_letter(point.op)}{point.role}" for point in points)


def _letter(op: str) -> str:
    return {"read": "R", "write": "W", "call": "C"}.get(op, op[0].upper())


def _cci_ranks(case: Case, pattern: Answer) -> tuple[int | None, ...]:
    """CCI's rank of each access of a pattern."""
    sites = case.comparison.places.site
    answers = rank_with("cci", case.comparison)
    scores = [answer.score for answer in answers]
    at = [int(sites[answer.lines[0].point]) for answer in answers]
    return tuple(shared_rank(scores, at, int(sites[line.point])) for line in pattern.lines)


def shared_rank(scores: Sequence[float], sites: Sequence[int], site: int) -> int | None:
    """The rank of a site's best entry; equals share the first place among them."""
    own = [score for score, where in zip(scores, sites, strict=True) if where == site]
    return 1 + sum(score > max(own) for score in scores) if own else None
