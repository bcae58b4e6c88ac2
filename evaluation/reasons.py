# SPDX-License-Identifier: Apache-2.0
"""Why a single method does not have a cause in its top three, found from the runs themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from evaluation.cases import Case, Points
from evaluation.truth import TruePoint, Verdict
from unsnarl.analyses import falcon
from unsnarl.analyses.answer import Answer
from unsnarl.model.report import FindingPoint

Why = Callable[[int | None], str]
Lazy = Callable[[], str]

LOOKED_AT = 10  # answers from the top, for the one that comes closest
EVERYTHING = 1_000_000
SYNC = {"acquire", "wait", "release"}


def of_list(case: Case, lists: Sequence[Points], rank: int | None) -> str:
    """For lists of points: how far down, or what the closest one lacks."""
    if rank is not None:
        return f"rank {rank}: the first {_closest(case, lists[:1])}"
    if not lists:
        return "no answer"
    return _closest(case, lists[:LOOKED_AT])


def of_points(scores: Sequence[float], bugs: Sequence[bool], none: str) -> str:
    """For code points: how many come before the first true one."""
    best = max((score for score, bug in zip(scores, bugs, strict=True) if bug), default=None)
    if best is None:
        return none
    above = sum(score > best for score in scores)
    level = sum(score == best and not bug for score, bug in zip(scores, bugs, strict=True))
    parts = []
    if above:
        parts.append(f"{above} other code point{'s come' if above > 1 else ' comes'} first")
    if level:
        parts.append(f"{level} tie{'s' if level == 1 else ''} with it")
    return ", ".join(parts)


def of_patterns(case: Case, method: str, answers: Sequence[Answer], rank: int | None) -> str:
    """For Falcon's and AVIO's patterns."""
    if rank is not None:
        return _far_down(answers, rank, len(case.comparison.passing))
    return (
        _made_of_locks(case)
        or _too_large(case)
        or _left_out(case, method)
        or _unseen(case)
        or _nothing(method, answers)
        or of_list(case, [case.points_of(answer) for answer in answers], None)
    )


def _nothing(method: str, answers: Sequence[Answer]) -> str:
    return "no triple is in failing runs alone" if method == "avio" and not answers else ""


def _far_down(answers: Sequence[Answer], rank: int, passing: int) -> str:
    answer = answers[rank - 1]
    above = sum(other.score > answer.score for other in answers)
    ties = sum(other.score == answer.score for other in answers) - 1
    parts = []
    if above:
        parts.append(f"{above} score{'s' if above == 1 else ''} higher")
    if ties:
        parts.append(f"ties with {ties} other{'s' if ties > 1 else ''}")
    if answer.passing:
        parts.append(f"its pattern is in {answer.passing} of {passing} passing runs")
    return f"rank {rank}: " + ", ".join(parts)


def _too_large(case: Case) -> str:
    if case.bug.type == "multi-variable":
        return "two variables: no pattern has both"
    needed = len(case.cause.points)
    return f"{needed} points: a pattern has at most three" if needed > 3 else ""


def _made_of_locks(case: Case) -> str:
    locks = SYNC & {point.op for point in case.cause.points}
    return "not seen: operations on locks make no patterns" if locks else ""


def _left_out(case: Case, method: str) -> str:
    """The true pattern occurred, but the method passes over it."""
    for answer in falcon.answers(case.comparison, falcon.FalconOptions(fine=True, keep=EVERYTHING)):
        if not case.judge(case.points_of(answer)).matches:
            continue
        if method == "falcon":
            return "its pattern is one that Falcon's windows merge away"
        if len(answer.lines) < 3:
            return "a pair: AVIO looks for triples only"
        if answer.passing:
            passing = len(case.comparison.passing)
            return f"its pattern is in {answer.passing} of {passing} passing runs: thrown away"
        return f"{_kind(case.points_of(answer))} is none of AVIO's triples"
    return ""


def _kind(points: Points) -> str:
    return "-".join(f"{'R' if point.op == 'read' else 'W'}{point.role}" for point in points)


def _unseen(case: Case) -> str:
    """True points that are in no pattern of any failing run."""
    seen: set[int] = set()
    for run in case.comparison.failing:
        for column in ("first_point", "other_point", "last_point"):
            for point in set(run.patterns[column].tolist()) if len(run.patterns) else ():
                seen.update(case.true(point))
    missing = [point for at, point in enumerate(case.cause.points) if at not in seen]
    return f"not seen: no pattern has {_words(missing)}" if missing else ""


def _closest(case: Case, lists: Sequence[Sequence[FindingPoint]]) -> str:
    """What is wrong with the answer that comes closest; of equals the first."""
    verdict = min(map(case.judge, lists), key=_distance)
    if verdict.missing:
        return f"misses {_words(verdict.missing)}"
    if not verdict.ordered:
        return "has the points in another order"
    if not verdict.roles:
        return "has the points in other threads"
    return f"{verdict.points} points where {verdict.needed} are needed"


def _distance(verdict: Verdict) -> tuple[int, bool, bool, int]:
    return len(verdict.missing), not verdict.ordered, not verdict.roles, verdict.points


def _words(points: Sequence[TruePoint]) -> str:
    return " and ".join(f"the {point.op} in `{point.text.strip()}`" for point in points)
