# SPDX-License-Identifier: Apache-2.0
"""Bugaboo on the paper's example and on cases worked out by hand."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from evaluation.inspections import Inspections, inspections
from hypothesis import given
from hypothesis import strategies as st
from tests.conformance.tracker_twin import EdgeKey, Event, Kind, Seen, Tracker
from tests.unit.comparisons import compare, counted, edge, point_table, run

from unsnarl.analyses.bugaboo import (
    BugabooOptions,
    SiteRanking,
    answers,
    ranking,
)
from unsnarl.model.evidence import Comparison, Evidence
from unsnarl.model.graph import CONTEXT_BITS

EMPTY = run()
LR, LW, RR, RW = Seen


def ranks(comparison: Comparison, **options) -> dict[int, float]:
    """Code points and their ranks, best first."""
    found = ranking(comparison, BugabooOptions(**options))
    return dict(zip(found.sites.tolist(), found.values.tolist(), strict=True))


def context(*oldest_first: Seen) -> int:
    """A context as the paper writes it."""
    return sum(seen << CONTEXT_BITS * age for age, seen in enumerate(reversed(oldest_first)))


class TestFigure5:
    """The three executions of figure 5(a), from the events of figure 4(a).

    The figure starts with empty contexts in a program that has run already: thread 1 has written
    both variables, thread 2 has read them. Edges are BB-SW's (4.1): every read of another thread's
    write. The text of the paper gives all contexts, hence all nodes; which nodes 5(b) joins is only
    drawn. Each of its nodes is an end of an edge if a read also points to the write that ends it
    (our anti-edges), so that is what is compared with it.
    """

    STR, LEN = 0x1000, 0x1008
    OLD_STR, OLD_LEN, OLD_READ, SET_STR, SET_LEN, GET_STR, GET_LEN = range(1, 8)

    before = (
        Event(1, OLD_STR, STR, Kind.WRITE),
        Event(1, OLD_LEN, LEN, Kind.WRITE),
        Event(2, OLD_READ, STR, Kind.READ),
        Event(2, OLD_READ, LEN, Kind.READ),
    )
    set_str, set_len = Event(1, SET_STR, STR, Kind.WRITE), Event(1, SET_LEN, LEN, Kind.WRITE)
    get_str, get_len = Event(2, GET_STR, STR, Kind.READ), Event(2, GET_LEN, LEN, Kind.READ)
    reads_first = (get_str, get_len, set_str, set_len)
    buggy = (set_str, get_str, get_len, set_len)
    writes_first = (set_str, set_len, get_str, get_len)

    def tracked(self, events: tuple[Event, ...], **options) -> Tracker:
        tracker = Tracker(first_read=False, first_write="off", **options).feed(self.before)
        tracker.contexts.clear()
        tracker.edges.clear()
        return tracker.feed(events)

    def nodes(self, events: tuple[Event, ...]) -> set[tuple[int, int]]:
        """The ends of edges that the figure shows."""
        edges = self.tracked(events, anti_edges=True).edges
        ends = {end for key in edges for end in (key[:2], key[2:])}
        return {end for end in ends if end[0] >= self.SET_STR}

    def test_contexts_of_the_first_execution(self):
        assert self.nodes(self.reads_first) == {
            (self.GET_STR, context()),
            (self.GET_LEN, context(LR)),
            (self.SET_STR, context(RR, RR)),
            (self.SET_LEN, context(RR, RR, LW)),
        }

    def test_contexts_of_the_buggy_execution(self):
        assert self.nodes(self.buggy) == {
            (self.SET_STR, context()),
            (self.GET_STR, context(RW)),
            (self.GET_LEN, context(RW, LR)),
            (self.SET_LEN, context(LW, RR, RR)),
        }

    def test_contexts_of_the_third_execution(self):
        assert self.nodes(self.writes_first) == {
            (self.SET_STR, context()),
            (self.SET_LEN, context(LW)),
            (self.GET_STR, context(RW, RW)),
            (self.GET_LEN, context(RW, RW, LR)),
        }

    def test_contexts_between_the_accesses(self):
        """What figure 5(a) writes beside the arrows, event by event: thread 1, thread 2."""
        seen = [self.tracked(self.buggy[:count]).contexts for count in range(1, 4)]
        assert seen == [
            {1: context(LW), 2: context(RW)},
            {1: context(LW, RR), 2: context(RW, LR)},
            {1: context(LW, RR, RR), 2: context(RW, LR, LR)},
        ]

    def test_the_graph_has_eleven_nodes_and_six_edges(self):
        runs = (self.reads_first, self.buggy, self.writes_first)
        keys = {key for one in runs for key in self.tracked(one, anti_edges=True).edges}
        shown = {key for key in keys if key.source_point >= self.SET_STR}
        assert shown == {
            EdgeKey(self.GET_STR, context(), self.SET_STR, context(RR, RR)),
            EdgeKey(self.GET_LEN, context(LR), self.SET_LEN, context(RR, RR, LW)),
            EdgeKey(self.SET_STR, context(), self.GET_STR, context(RW)),
            EdgeKey(self.GET_LEN, context(RW, LR), self.SET_LEN, context(LW, RR, RR)),
            EdgeKey(self.SET_STR, context(), self.GET_STR, context(RW, RW)),
            EdgeKey(self.SET_LEN, context(LW), self.GET_LEN, context(RW, RW, LR)),
        }
        assert len({end for key in shown for end in (key[:2], key[2:])}) == 11

    def evidence(self, events: tuple[Event, ...]) -> Evidence:
        edges = self.tracked(events).edges.items()
        return run(
            edge(
                key.source_point,
                key.sink_point,
                contexts=(key.source_context, key.sink_context),
                threads=value[:2],
                time=value.source_time,
            )
            for key, value in edges
        )

    def test_only_contexts_tell_the_buggy_execution_from_the_others(self):
        passing = [self.evidence(self.reads_first), self.evidence(self.writes_first)]
        runs = compare([self.evidence(self.buggy)], passing, point_table(8))
        assert set(ranks(runs)) == {self.SET_STR, self.GET_STR, self.OLD_LEN, self.GET_LEN}
        assert ranks(runs, context_size=0) == {}


class TestRank:
    """Section 5: contexts over the runs, by executions."""

    def test_sum_of_runs_by_context_over_executions(self):
        """Site 1: contexts 1 and 2 in one run, 1 in the other; 20 executions."""
        first = run(
            [edge(1, 2, contexts=(1, 9)), edge(1, 3, contexts=(1, 9)), edge(1, 3, contexts=(2, 9))],
            counts=[counted(1, 15), counted(2, 6), counted(3, 4)],
        )
        second = run(
            [edge(1, 2, contexts=(1, 9))], counts=[counted(1, 5), counted(2, 6), counted(3, 1)]
        )
        assert ranks(compare([first, second])) == {1: 3 / 20, 2: 2 / 12, 3: 1 / 5}

    def test_executions_count_in_runs_too_in_which_the_site_is_silent(self):
        runs = compare([run([edge(1, 2)], counts=[counted(1, 1)]), run(counts=[counted(1, 9)])])
        assert ranks(runs)[1] == 1 / 10

    def test_where_nobody_counted_the_edges_are_counted(self):
        runs = compare(
            [
                run([edge(1, 2, count=3), edge(3, 1, count=2, contexts=(0, 0))]),
                run([edge(1, 2, count=9)], counts=[counted(1, 7)]),
            ]
        )
        assert ranks(runs) == {1: 2 / (3 + 2 + 7), 2: 2 / 12, 3: 1 / 2}

    def test_points_of_one_site_are_one_code_point(self):
        where = point_table(4, sites=[0, 1, 1, 2])
        runs = compare([run([edge(0, 1), edge(0, 2)], counts=[counted(1, 8)])], (), where)
        assert ranks(runs) == {1: 1 / 8, 0: 1 / 2}

    def test_labelled_runs_are_ranked_by_what_no_passing_run_has(self):
        normal, odd = edge(1, 2, contexts=(5, 6)), edge(1, 3, contexts=(5, 7))
        runs = compare([run([normal, odd]), run([normal])], [run([normal])])
        assert set(ranks(runs)) == {1, 3}
        assert set(ranks(runs, labelled=False)) == {1, 2, 3}

    def test_edges_are_compared_by_points_and_contexts(self):
        where = point_table(4, sites=[0, 1, 1, 2])
        runs = compare(
            [run([edge(0, 1, contexts=(1, 1)), edge(0, 2, contexts=(1, 1))])],
            [run([edge(0, 2, contexts=(1, 1)), edge(0, 1, contexts=(1, 2))])],
            where,
        )
        (best, _) = answers(runs)
        assert [line.point for line in best.lines] == [0, 1]

    def test_contexts_are_cut_to_their_newest_events(self):
        failing = run([edge(1, 2, contexts=(0o21, 0)), edge(1, 2, contexts=(0o41, 0))])
        passing = run([edge(1, 2, contexts=(0o31, 0))])
        runs = compare([failing], [passing])
        assert ranks(runs, context_size=2)[1] == 2 / 2
        assert ranks(runs, context_size=1) == {}
        assert ranks(runs, context_size=1, labelled=False)[1] == 2 / 3

    def test_unlabelled_runs_are_ranked_whether_they_fail_or_pass(self):
        runs = [run([edge(1, 2)]), run([edge(1, 2), edge(3, 4, count=9)])]
        expected = ranks(compare(runs, []), labelled=False)
        assert expected == ranks(compare([], runs), labelled=False)
        assert expected == ranks(compare(runs[1:], runs[:1]), labelled=False)
        assert list(expected.items()) == [(3, 1 / 9), (4, 1 / 9), (1, 1.0), (2, 1.0)]

    def test_equal_ranks_are_ordered_by_runs_then_by_site(self):
        failing = [run([edge(8, 9)]), run([edge(8, 9)]), run([edge(1, 2)])]
        assert list(ranks(compare(failing))) == [8, 9, 1, 2]
        backwards = compare(failing, (), point_table(10, order=range(10)[::-1]))
        assert list(ranks(backwards)) == [9, 8, 2, 1]


class TestAnswers:
    def test_nothing_to_rank(self):
        assert answers(compare([])) == []
        assert answers(compare([EMPTY], [run([edge(1, 2)])])) == []
        assert answers(compare([run([edge(1, 2)])], [run([edge(1, 2)])])) == []

    def test_the_score_is_one_by_rank(self):
        found = answers(compare([run([edge(1, 2)], counts=[counted(1, 8), counted(2, 4)])]))
        assert [(one.score, one.features) for one in found] == [
            (8.0, {"rank": 1 / 8}),
            (4.0, {"rank": 1 / 4}),
        ]
        assert [one.method for one in found] == ["bugaboo"] * 2

    def test_a_code_point_is_shown_with_its_most_frequent_partner(self):
        """Site 1 wrote for 2 in two runs and for 3 in one, there very often."""
        failing = [
            run([edge(1, 2, threads=(4, 5)), edge(1, 3, count=99, time=8)]),
            run([edge(1, 2, threads=(6, 7))], counts=[counted(1, 500)]),
        ]
        (best, *_) = answers(compare(failing, (), point_table(5)))
        told = [(line.point, line.region, line.role, line.anchor) for line in best.lines]
        assert told == [(1, "source", 1, 0), (2, "sink", 2, 1)]
        assert [line.time for line in best.lines] == [1, 2]
        assert best.threads == {0: {0: 4, 1: 5}, 1: {0: 6, 1: 7}}
        assert (best.runs, best.passing) == ((0, 1), 0)

    def test_a_code_point_that_reads_is_the_sink(self):
        runs = [run([edge(1, 3, threads=(4, 5))], counts=[counted(3, 100)])]
        best = answers(compare(runs))[0]
        assert [(line.point, line.region) for line in best.lines] == [(1, "source"), (3, "sink")]
        assert best.threads == {0: {0: 4, 1: 5}}

    def test_a_run_without_the_partner_tells_the_thread_of_the_code_point(self):
        """Site 1 is the source of the pair, and in the last run only a sink."""
        failing = [
            run([edge(1, 2)], counts=[counted(1, 50)]),
            run([edge(1, 2)]),
            run([edge(1, 3, threads=(8, 9))]),
            run([edge(4, 1, threads=(6, 7))]),
        ]
        best = answers(compare(failing))[0]
        assert [line.point for line in best.lines] == [1, 2]
        assert best.threads[2] == {0: 8, 1: 9}
        assert best.threads[3] == {0: 7, 1: 6}
        assert [line.confidence for line in best.lines] == [1.0, 0.5]

    def test_the_latest_occurrence_tells_the_threads(self):
        edges = [
            edge(1, 2, contexts=(0, 3), threads=(6, 7), time=9),
            edge(1, 2, contexts=(0, 4), threads=(4, 5), time=2),
        ]
        for rows in (edges, edges[::-1]):
            assert answers(compare([run(rows)]))[0].threads == {0: {0: 6, 1: 7}}

    def test_only_edges_that_count_are_shown(self):
        often = edge(1, 2, count=50)
        best = answers(compare([run([often, edge(1, 3)])], [run([often])]))[0]
        assert [line.point for line in best.lines] == [1, 3]

    def test_unlabelled_answers_of_passing_runs_alone(self):
        found = answers(compare([], [run([edge(1, 2)]), EMPTY]), BugabooOptions(labelled=False))
        assert [(one.method, one.runs, one.passing, one.threads) for one in found] == [
            ("bugaboo-unlabelled", (), 1, {})
        ] * 2
        assert [line.confidence for line in found[0].lines] == [1.0, 1.0]
        assert found[0].lines[0].separation == -0.5

    def test_unlabelled_answers_prefer_partners_of_failing_runs(self):
        passing = [run([edge(1, 3)]), run([edge(1, 3)])]
        found = answers(compare([run([edge(1, 2)])], passing), BugabooOptions(labelled=False))
        lines = {one.lines[0].point: one for one in found if one.lines[1].point != 3}
        assert [line.point for line in lines[1].lines] == [1, 2]

    def test_a_code_point_that_talks_to_itself(self):
        (only,) = answers(compare([run([edge(1, 1, threads=(2, 3))])]))
        assert [(line.point, line.region) for line in only.lines] == [(1, "source"), (1, "sink")]
        assert only.threads == {0: {0: 2, 1: 3}}

    def test_only_the_best_are_kept(self):
        runs = compare([run([edge(point, point + 1) for point in range(60)])])
        assert len(answers(runs)) == 50
        assert answers(runs, BugabooOptions(keep=3)) == answers(runs)[:3]


def ranked(*values: float, functions: tuple[int, ...] = ()) -> SiteRanking:
    """Sites 0, 1, ... with these ranks."""
    size = len(values)
    return SiteRanking(
        sites=np.arange(size),
        values=np.array(values),
        runs=np.ones(size, dtype=np.intp),
        functions=np.array(functions or range(size), dtype=np.intp),
    )


class TestInspections:
    def test_the_first_is_one_inspection(self):
        assert inspections(ranked(0.1, 0.2), {0}.__contains__) == Inspections(1, 1)

    def test_what_is_above_the_first_bug_counts(self):
        both = ranked(0.1, 0.2, 0.3, 0.4)
        assert inspections(both, {2, 3}.__contains__) == Inspections(3, 3)

    def test_a_bug_that_is_not_ranked_is_not_found(self):
        assert inspections(ranked(0.1), {7}.__contains__) is None
        assert inspections(ranked(), {7}.__contains__) is None

    @pytest.mark.parametrize(("bugs", "points"), [({1}, 3.0), ({1, 2}, 1 + 1 + 1 / 3)])
    def test_equal_ranks_are_averaged(self, bugs, points):
        found = inspections(ranked(0.1, 0.5, 0.5, 0.5, 0.9), bugs.__contains__)
        assert found is not None and found.points == pytest.approx(points)

    def test_a_function_counts_once(self):
        found = inspections(ranked(0.1, 0.2, 0.3, functions=(5, 5, 6)), {2}.__contains__)
        assert found == Inspections(3, 2)

    def test_a_function_that_was_met_before_the_bug_counts_once(self):
        found = inspections(ranked(0.1, 0.2, functions=(5, 5)), {1}.__contains__)
        assert found == Inspections(2, 1)

    @given(
        st.lists(
            st.tuples(st.sampled_from([0.1, 0.2]), st.integers(0, 2), st.booleans()),
            min_size=1,
            max_size=6,
        )
    )
    def test_the_mean_over_all_orders_of_equals(self, members):
        members = sorted(members)
        bugs = {site for site, (_, _, bug) in enumerate(members) if bug}
        values, functions = [one[0] for one in members], tuple(one[1] for one in members)
        found = inspections(ranked(*values, functions=functions), bugs.__contains__)
        if not bugs:
            assert found is None
            return
        orders = [
            order
            for order in permutations(range(len(members)))
            if all(values[a] <= values[b] for a, b in pairwise(order))
        ]
        looked = [
            order[: next(i for i, at in enumerate(order) if at in bugs) + 1] for order in orders
        ]
        points = sum(map(len, looked)) / len(orders)
        met = sum(len({functions[site] for site in order}) for order in looked) / len(orders)
        assert found == pytest.approx((points, met))
