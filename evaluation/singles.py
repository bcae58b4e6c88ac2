# SPDX-License-Identifier: Apache-2.0
"""Every single method on the same runs: where the cause stands, and why not higher.

Methods that answer with several accesses are judged by the strict criterion. Bugaboo and CCI answer
with code points: there, what counts is how many must be looked at until one of the cause's comes,
ties averaged (Bugaboo 6.2).
"""

from __future__ import annotations

from collections.abc import Sequence

from evaluation import reasons
from evaluation.cases import Case, Points, place, rank_of
from evaluation.inspections import inspections
from evaluation.results import ALL, Single
from unsnarl.analyses.answer import Answer
from unsnarl.analyses.bugaboo import BugabooOptions, SiteRanking, ranking
from unsnarl.analyses.methods import rank_with

PATTERNS = ("falcon", "avio")
CODE_POINTS = ("bugaboo", "bugaboo-unlabelled", "cci")
METHODS = ("recon", *PATTERNS, *CODE_POINTS)


def singles(case: Case) -> dict[str, Single]:
    """The rank or the number of inspections under every single method."""
    return {
        "recon": _recon(case),
        **{method: _patterns(case, method) for method in PATTERNS},
        "bugaboo": _bugaboo(case, labelled=True),
        "bugaboo-unlabelled": _bugaboo(case, labelled=False),
        "cci": _cci(case),
    }


def looked_at(scores: Sequence[float], bugs: Sequence[bool]) -> float | None:
    """Inspections down a list until the first bug, which is counted; None if there is none.

    Entries of equal score are looked at in any order: of t others, t/(b + 1) come before the first
    of b bugs on average.
    """
    best = max((score for score, bug in zip(scores, bugs, strict=True) if bug), default=None)
    if best is None:
        return None
    level = [bug for score, bug in zip(scores, bugs, strict=True) if score == best]
    above = sum(score > best for score in scores)
    return above + level.count(False) / (level.count(True) + 1) + 1


def _recon(case: Case) -> Single:
    lists = [finding.points for finding in case.findings("recon", ALL)]
    return _strict(case, lists, lambda rank: reasons.of_list(case, lists, rank))


def _patterns(case: Case, method: str) -> Single:
    answers = rank_with(method, case.comparison)
    lists: list[Points] = [case.points_of(answer) for answer in answers]
    return _strict(case, lists, lambda rank: reasons.of_patterns(case, method, answers, rank))


def _strict(case: Case, lists: Sequence[Points], why: reasons.Why) -> Single:
    rank = rank_of(place(case, lists))
    return _explained(rank, lambda: why(rank))


def _bugaboo(case: Case, *, labelled: bool) -> Single:
    ranked = ranking(case.comparison, BugabooOptions(labelled=labelled))
    found = inspections(ranked, case.is_bug_site)
    points = found.points if found else None
    scores = (-ranked.values).tolist()
    return _explained(points, lambda: reasons.of_points(scores, _bugs(case, ranked), _NO_EDGE))


def _bugs(case: Case, ranked: SiteRanking) -> list[bool]:
    return [case.is_bug_site(site) for site in ranked.sites.tolist()]


def _cci(case: Case) -> Single:
    answers = rank_with("cci", case.comparison)
    scores = [answer.score for answer in answers]
    bugs = [_at_bug(case, answer) for answer in answers]
    found = looked_at(scores, bugs)
    return _explained(found, lambda: reasons.of_points(scores, bugs, _NO_PREDICATE))


def _at_bug(case: Case, answer: Answer) -> bool:
    sites = case.comparison.points.site
    return any(case.is_bug_site(int(sites[line.point])) for line in answer.lines)


def _explained(rank: float | None, why: reasons.Lazy) -> Single:
    good = Single(rank)
    return good if good.good else Single(rank, why())


_NO_EDGE = "no edge of a true point is in failing runs alone"
_NO_PREDICATE = "no predicate at a true point makes failure likelier"
