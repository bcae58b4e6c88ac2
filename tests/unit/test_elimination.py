# SPDX-License-Identifier: Apache-2.0
"""Two bugs behind one signature: what is explained is set aside, the rest ranked again."""

from __future__ import annotations

from tests.unit.comparisons import compare, pattern, run

from unsnarl.analyses import joined
from unsnarl.analyses.elimination import explained
from unsnarl.analyses.methods import rank_with
from unsnarl.model.pattern import PatternKind

FIRST, SECOND, NOISE = (
    run(patterns=[pattern(PatternKind.RWR, *points), pattern(PatternKind.RWR, 7, 8, 9)])
    for points in ((1, 2, 3), (4, 5, 6), (7, 8, 9))
)
USUAL = run(patterns=[pattern(PatternKind.RWR, 7, 8, 9)])


def points(answer):
    return [line.point for line in answer.lines]


def test_the_rest_is_ranked_without_what_is_explained():
    comparison = compare([FIRST] * 6 + [SECOND] * 4, [USUAL] * 10)
    plain = joined.answers(comparison)
    found = explained(comparison, joined.answers)
    assert [points(one) for one in found[:2]] == [[1, 2, 3], [4, 5, 6]]
    assert found[1].runs == (6, 7, 8, 9)
    assert found[1].score == 1.0 > next(o.score for o in plain if points(o) == [4, 5, 6])
    assert (found[1].features["round"], "round" in found[0].features) == (2.0, False)
    assert set(found[1].threads) == {6, 7, 8, 9}


def test_the_default_ranking_does_so():
    comparison = compare([FIRST] * 6 + [SECOND] * 4, [USUAL] * 10)
    assert rank_with("joined", comparison)[1].runs == (6, 7, 8, 9)


def test_a_few_runs_are_no_second_bug():
    comparison = compare([FIRST] * 10 + [SECOND] * 2, [USUAL] * 10)
    assert not any("round" in one.features for one in explained(comparison, joined.answers))


def test_what_does_not_explain_the_rest_is_not_put_first():
    others = [run(patterns=[pattern(PatternKind.RWR, 10 + n, 20 + n, 30 + n)]) for n in range(4)]
    comparison = compare([FIRST] * 6 + others, [USUAL] * 10)
    assert not any("round" in one.features for one in explained(comparison, joined.answers))


def test_nothing_is_said_twice():
    comparison = compare([FIRST] * 6 + [SECOND] * 4, [USUAL] * 10)
    shown = [tuple(points(one)) for one in explained(comparison, joined.answers)]
    assert len(shown) == len(set(shown))


def test_no_answer_is_no_answer():
    assert explained(compare([run()] * 5, [run()]), joined.answers) == []
