# SPDX-License-Identifier: Apache-2.0
"""Falcon on the paper's example and on cases worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.conformance.window_twin import FIGURE_1, Windows, figure_1
from tests.unit.comparisons import compare, pattern, point_table, run

from unsnarl.analyses.falcon import FalconOptions, answers, suspiciousness, table
from unsnarl.model.evidence import Comparison, Evidence
from unsnarl.model.pattern import FINE, PatternKind

RW, WR, WW, RWR, WWR, WRW, RWW, WWW = list(PatternKind)[:8]
EMPTY = run()


def patterns_of(comparison: Comparison, **options) -> list[tuple[int, ...]]:
    """The points of the answers, best first."""
    found = answers(comparison, FalconOptions(**options))
    return [tuple(line.point for line in answer.lines) for answer in found]


class TestFigure1:
    """The last of the four executions fails."""

    @pytest.fixture
    def runs(self) -> list[Evidence]:
        windows = [Windows().feed(figure_1(execution)).drain() for execution in FIGURE_1]
        return [replace(EMPTY, patterns=one.rows()) for one in windows]

    def test_suspiciousness_to_the_digit(self, runs):
        counted = table(compare(runs[3:], runs[:3]))
        scores = suspiciousness(counted.failed, counted.passed, 1, 3).tolist()
        by_pattern = dict(zip(zip(*counted.identity(), strict=True), scores, strict=True))
        triples = {key: score for key, score in by_pattern.items() if PatternKind(key[0]).is_triple}
        assert triples == {
            (WWR, 1, 6, 3): 0,
            (WWR, 1, 4, 3): 0.5,
            (WWR, 2, 7, 3): 0,
            (WWR, 2, 5, 3): 0.5,
        }

    def test_answers_are_the_triples_that_broke_the_assertion(self, runs):
        best = answers(compare(runs[3:], runs[:3]))
        triples = [one for one in best if len(one.lines) == 3]
        assert [[line.point for line in one.lines] for one in triples] == [[1, 4, 3], [2, 5, 3]]
        for one in triples:
            assert (one.score, one.runs, one.passing) == (0.5, (0,), 1)
            assert one.features == {"failed": 1, "passed": 1, "suspiciousness": 0.5}
            assert one.threads == {0: {0: 2, 1: 1}}


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("jaccard", [4 / 6, 1 / 5, 0.0, 0.0]),
        ("tarantula", [1 / (1 + 2 / 8), (1 / 4) / (1 / 4 + 1 / 8), 0.0, 0.0]),
        ("ochiai", [4 / (4 * 6) ** 0.5, 1 / (4 * 2) ** 0.5, 0.0, 0.0]),
    ],
)
def test_formulas(formula, expected):
    failed, passed = np.array([4, 1, 0, 0]), np.array([2, 1, 3, 0])
    assert suspiciousness(failed, passed, 4, 8, formula).tolist() == pytest.approx(expected)


@pytest.mark.parametrize("formula", ["jaccard", "tarantula", "ochiai"])
def test_formulas_without_runs_of_a_kind(formula):
    one, none = np.array([1]), np.array([0])
    assert suspiciousness(one, none, 1, 0, formula).tolist() == [1.0]
    assert suspiciousness(none, one, 0, 1, formula).tolist() == [0.0]
    assert suspiciousness(none, none, 0, 0, formula).tolist() == [0.0]


def test_the_formula_can_be_chosen():
    """Tarantula gives its best to what happened in a single failing run (3.2)."""
    usual, single = pattern(RWR, 1, 2, 3), pattern(RWR, 4, 5, 6)
    failing = [run(patterns=[usual, single]), run(patterns=[usual])]
    passing = [run(patterns=[usual]), EMPTY, EMPTY]
    comparison = compare(failing, passing)
    assert patterns_of(comparison) == [(1, 2, 3), (4, 5, 6)]
    assert patterns_of(comparison, formula="tarantula") == [(4, 5, 6), (1, 2, 3)]
    assert patterns_of(comparison, formula="ochiai") == [(1, 2, 3), (4, 5, 6)]


def test_nothing_failing_nothing_ranked():
    assert answers(compare([], [run(patterns=[pattern(WR, 1, 2)])])) == []
    assert answers(compare([EMPTY], [])) == []


def test_lines_of_a_triple():
    (only,) = answers(compare([run(patterns=[pattern(RWW, 7, 8, 9, threads=(3, 5))]), EMPTY]))
    told = [(line.point, line.region, line.role, line.anchor) for line in only.lines]
    assert told == [(7, "prefix", 1, 1), (8, "source", 2, 0), (9, "sink", 1, 1)]
    assert [line.time for line in only.lines] == [0, 1, 2]
    assert {(line.confidence, line.separation, line.same_cell) for line in only.lines} == {
        (1.0, 0.5, 1.0)
    }
    assert only.threads == {0: {0: 5, 1: 3}}
    assert (only.method, only.runs) == ("falcon", (0,))


def test_lines_of_a_pair():
    (only,) = answers(compare([run(patterns=[pattern(RW, 7, 8, threads=(3, 5))])]))
    told = [(line.point, line.region, line.role, line.anchor, line.time) for line in only.lines]
    assert told == [(7, "source", 1, 0, 0), (8, "sink", 2, 1, 1)]
    assert only.threads == {0: {0: 3, 1: 5}}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (PatternKind.UNREAD, [("prefix", 1, 0), ("source", 1, 0), ("sink", 2, 1)]),
        (PatternKind.REREAD, [("source", 1, 0), ("body", 2, 1), ("sink", 2, 1)]),
    ],
)
def test_lines_of_a_triple_that_nobody_came_between(kind, expected):
    runs = compare([run(patterns=[pattern(kind + FINE, 7, 8, 9, threads=(3, 5))])])
    (only,) = answers(runs, FalconOptions(fine=True))
    assert [(line.region, line.role, line.anchor) for line in only.lines] == expected
    assert only.threads == {0: {0: 3, 1: 5}}


def test_runs_and_threads_of_every_failing_run():
    failing = [
        run(patterns=[pattern(RWR, 1, 2, 3, threads=(1, 2))]),
        EMPTY,
        run(patterns=[pattern(RWR, 1, 2, 3, threads=(4, 1))]),
    ]
    (only,) = answers(compare(failing, [failing[0]]))
    assert (only.runs, only.passing) == ((0, 2), 1)
    assert only.threads == {0: {0: 2, 1: 1}, 2: {0: 1, 1: 4}}


def test_equal_scores_are_ordered_by_runs_then_by_site():
    """Under Tarantula all three score 1."""
    twice, once = pattern(WR, 50, 60), pattern(WR, 1, 2)
    failing = [run(patterns=[twice, once]), run(patterns=[pattern(WR, 1, 3), twice])]
    runs = compare(failing)
    assert patterns_of(runs, formula="tarantula") == [(50, 60), (1, 2), (1, 3)]
    backwards = compare(failing, (), point_table(100, order=range(100)[::-1]))
    assert patterns_of(backwards, formula="tarantula") == [(50, 60), (1, 3), (1, 2)]


def test_a_pattern_is_its_kind_and_its_points():
    failing = [run(patterns=[pattern(WWW, 1, 2, 3)])]
    passing = [run(patterns=[pattern(RWW, 1, 2, 3)])]
    (only,) = answers(compare(failing, passing))
    assert (only.score, only.passing) == (1.0, 0)


def test_only_the_best_are_kept():
    many = [pattern(WR, point, point + 1) for point in range(90)]
    runs = compare([run(patterns=many), run(patterns=many[40:])])
    assert patterns_of(runs, keep=2) == [(40, 41), (41, 42)]
    assert patterns_of(runs, keep=52)[49:] == [(89, 90), (0, 1), (1, 2)]
    assert len(patterns_of(runs, keep=1000)) == 90


def test_a_pattern_that_a_run_has_twice_counts_once_and_its_latest_threads_are_told():
    twice = [
        pattern(WR, 1, 2, threads=(1, 2), time=9),
        pattern(WR, 1, 2, threads=(3, 4), time=4),
    ]
    for rows in (twice, twice[::-1]):
        (only,) = answers(compare([run(patterns=rows)]))
        assert only.features == {"failed": 1, "passed": 0, "suspiciousness": 1}
        assert only.threads == {0: {0: 1, 1: 2}}


def test_patterns_of_finer_windows_are_left_out_unless_asked_for():
    runs = compare([run(patterns=[pattern(WR, 1, 2), pattern(RWR + FINE, 3, 4, 5)])])
    assert patterns_of(runs) == [(1, 2)]
    assert patterns_of(runs, fine=True) == [(1, 2), (3, 4, 5)]


def test_a_table_counts_patterns_that_only_passing_runs_have():
    both, failing_only, passing_only = (pattern(WR, point, 9) for point in (1, 2, 3))
    counted = table(
        compare([run(patterns=[both, failing_only])], [run(patterns=[both, passing_only])] * 2)
    )
    found = zip(counted.identity().first, counted.failed, counted.passed, strict=True)
    assert list(found) == [(1, 1, 2), (2, 1, 0), (3, 0, 2)]
    assert (len(counted), counted.failing, counted.passing) == (3, 1, 2)


def test_any_number_of_points_will_do():
    far = 3_000_000
    rows = [pattern(WWR, far, 5, far - 1), pattern(WR, 7, far)]
    where = replace(point_table(10), order=np.arange(far + 1), site=np.arange(far + 1))
    runs = compare([run(patterns=rows), run(patterns=rows[:1])], [run(patterns=rows[1:])], where)
    assert [[line.point for line in one.lines] for one in answers(runs)] == [
        [far, 5, far - 1],
        [7, far],
    ]
    assert table(runs).identity().kind.tolist() == [WR, WWR]
