# SPDX-License-Identifier: Apache-2.0
"""CCI and AVIO on cases worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from math import log

import numpy as np
import pytest
from tests.conformance.window_twin import FIGURE_1, Windows, figure_1
from tests.unit.comparisons import compare, counted, edge, pattern, point_table, run

from unsnarl.analyses import falcon
from unsnarl.analyses.baselines import avio, cci
from unsnarl.model.pattern import FINE, PatternKind

RW, WR, WW, RWR, WWR, WRW, RWW, WWW = list(PatternKind)[:8]
EMPTY = run()


def array(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


class TestImportance:
    """Liblit et al. 2005, section 3."""

    def test_figures_worked_out_by_hand(self):
        """True in 4 of 8 failing and 1 of 8 passing runs; all failing, 6 passing ones reach it."""
        scores = cci.importance(array(4), array(1), array(8), array(6), 8)
        increase, covered = 4 / 5 - 8 / 14, log(4) / log(8)
        assert scores.failure.tolist() == [4 / 5]
        assert scores.context.tolist() == [8 / 14]
        assert scores.increase.tolist() == pytest.approx([increase])
        assert scores.importance.tolist() == pytest.approx([2 / (1 / increase + 1 / covered)])

    def test_the_perfect_predictor(self):
        assert cci.importance(array(5), array(0), array(5), array(5), 5).importance == 2 / 3

    @pytest.mark.parametrize(
        ("failed", "passed", "reached"),
        [(3, 3, (3, 3)), (2, 4, (4, 4)), (0, 0, (0, 0)), (0, 3, (3, 3))],
    )
    def test_what_does_not_make_failure_likelier_is_worth_nothing(self, failed, passed, reached):
        scores = cci.importance(array(failed), array(passed), *map(array, reached), 4)
        assert scores.importance.tolist() == [0.0]
        assert scores.increase[0] <= 0

    def test_one_failure_of_many_tells_nothing(self):
        assert cci.importance(array(1), array(0), array(4), array(4), 4).importance == 0.0

    def test_a_single_failing_run_is_covered_if_the_predicate_is_true_in_it(self):
        both = cci.importance(array(1, 0), array(0, 1), array(1, 1), array(1, 1), 1)
        assert both.importance.tolist() == pytest.approx([2 / (1 / 0.5 + 1 / 1), 0.0])


class TestCCI:
    def test_nothing_failing_nothing_ranked(self):
        assert cci.answers(compare([], [run(counts=[counted(1, 2, 1)])])) == []
        assert cci.answers(compare([EMPTY], [EMPTY])) == []

    def test_both_predicates_of_a_site(self):
        """Site 1 finds another thread's access only if the run fails, site 2 only its own."""
        failing = [run(counts=[counted(1, 9, 1), counted(2, 3, 0)])] * 2
        passing = [run(counts=[counted(1, 9, 0), counted(2, 3, 3)])] * 2
        found = cci.answers(compare(failing, passing))
        told = [(one.lines[0].point, one.features["remote"], one.score) for one in found]
        assert told == [(1, 1.0, pytest.approx(2 / 3)), (2, 0.0, pytest.approx(2 / 3))]
        assert found[0].features == {
            "failure": 1.0,
            "context": 0.5,
            "increase": 0.5,
            "importance": pytest.approx(2 / 3),
            "failed": 2.0,
            "passed": 0.0,
            "remote": 1.0,
        }

    def test_an_answer_is_one_access(self):
        touched = run([edge(3, 1, threads=(4, 5))], counts=[counted(1, 2, 1)])
        silent, local = run(counts=[counted(1, 2, 2)]), run(counts=[counted(1, 2, 0)])
        runs = compare([touched, local, silent], [local, silent, local, local])
        (only,) = cci.answers(runs)
        (line,) = only.lines
        assert (line.point, line.region, line.role, line.anchor) == (1, "sink", 1, 1)
        assert line.separation == pytest.approx(2 / 3 - 1 / 4)
        assert (only.method, only.runs, only.passing) == ("cci", (0, 2), 1)
        assert only.threads == {0: {1: 5}, 2: {}}

    def test_the_thread_is_that_of_the_latest_edge_into_the_site(self):
        edges = [
            edge(3, 1, threads=(4, 5), time=2),
            edge(3, 1, contexts=(0, 1), threads=(6, 7), time=4),
            edge(1, 3, threads=(8, 9), time=6),
        ]
        passing = [run(counts=[counted(1, 1, 0)])]
        for rows in (edges, edges[::-1]):
            (only,) = cci.answers(compare([run(rows, counts=[counted(1, 1, 1)])], passing))
            assert only.threads == {0: {1: 7}}

    def test_ranked_by_importance_then_runs_then_site(self):
        failing = [
            run(counts=[counted(5, 1, 1), counted(6, 1, 1), counted(7, 1, 1)]),
            run(counts=[counted(5, 1, 0), counted(6, 1, 1), counted(7, 1, 1)]),
            run(counts=[counted(5, 1, 1), counted(6, 1, 1), counted(7, 1, 1)]),
        ]
        passing = [run(counts=[counted(site, 1, 0) for site in (5, 6, 7)])] * 3
        ranked = [one.lines[0].point for one in cci.answers(compare(failing, passing))]
        assert ranked == [6, 7, 5]
        backwards = compare(failing, passing, point_table(8, order=range(8)[::-1]))
        assert [one.lines[0].point for one in cci.answers(backwards)] == [7, 6, 5]
        assert len(cci.answers(backwards, cci.CciOptions(keep=2))) == 2

    def test_a_site_is_shown_by_its_first_point(self):
        where = point_table(4, sites=[0, 1, 1, 1], order=[0, 3, 1, 2])
        runs = compare([run(counts=[counted(1, 1, 1)])], [run(counts=[counted(1, 1)])], where)
        assert [one.lines[0].point for one in cci.answers(runs)] == [2]

    def test_a_site_without_a_point_is_left_out(self):
        where = point_table(1, functions=[0, 0, 0])
        runs = compare([run(counts=[counted(2, 1, 1)])], [run(counts=[counted(2, 1)])], where)
        assert cci.answers(runs) == []


class TestAVIO:
    def test_nothing_failing_nothing_found(self):
        assert avio.answers(compare([], [run(patterns=[pattern(RWR, 1, 2, 3)])])) == []

    def test_it_misses_the_bug_of_falcons_figure_1(self):
        """Falcon 2.2: each of the four patterns is in some passing run as well."""
        windows = [Windows().feed(figure_1(execution)).drain() for execution in FIGURE_1]
        runs = [replace(EMPTY, patterns=one.rows()) for one in windows]
        assert avio.answers(compare(runs[3:], runs[:3])) == []

    def test_triples_of_failing_runs_alone_by_number_of_runs(self):
        rows = [
            pattern(RWR, 1, 2, 3),
            pattern(WWR, 4, 5, 6),
            pattern(WRW, 7, 8, 9),
            pattern(RWW, 10, 11, 12),
            pattern(WWW, 13, 14, 15),
            pattern(WR, 16, 17),
        ]
        failing = [run(patterns=rows), run(patterns=rows[2:])]
        found = avio.answers(compare(failing, [run(patterns=rows[1:2]), EMPTY]))
        told = [([line.point for line in one.lines], one.score, one.runs) for one in found]
        assert told == [
            ([7, 8, 9], 2.0, (0, 1)),
            ([10, 11, 12], 2.0, (0, 1)),
            ([1, 2, 3], 1.0, (0,)),
        ]
        assert found[0].features == {"failed": 2.0}
        assert {(one.method, one.passing) for one in found} == {("avio", 0)}

    def test_an_answer_has_the_lines_of_a_pattern(self):
        runs = compare([run(patterns=[pattern(WRW, 1, 2, 3, threads=(8, 9))])])
        (ours,), (falcons,) = avio.answers(runs), falcon.answers(runs)
        assert (ours.lines, ours.threads) == (falcons.lines, falcons.threads)

    def test_every_access_counts_unless_only_falcons_windows_are_asked_for(self):
        runs = compare([run(patterns=[pattern(RWR + FINE, 1, 2, 3)])])
        assert len(avio.answers(runs)) == 1
        assert avio.answers(runs, avio.AvioOptions(fine=False)) == []

    def test_only_the_best_are_kept(self):
        runs = compare([run(patterns=[pattern(RWR, at, at + 1, at + 2) for at in range(60)])])
        assert len(avio.answers(runs)) == 50
        assert avio.answers(runs, avio.AvioOptions(keep=1)) == avio.answers(runs)[:1]
