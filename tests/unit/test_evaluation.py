# SPDX-License-Identifier: Apache-2.0
"""The pure parts of the evaluation: its statistics, its reasons and its page."""

from __future__ import annotations

import random
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from evaluation import bars, bugaboo_tables, falcon_tables, markdown, page, reasons, relieff
from evaluation.cases import Case
from evaluation.draws import sample
from evaluation.inspections import inspections
from evaluation.recon_tables import first_shown
from evaluation.results import (
    BugabooDraw,
    CauseDraw,
    Draw,
    FalconDraw,
    Inspected,
    Named,
    Placed,
    ReconDraw,
    Reconstructed,
    Results,
    Single,
    Spans,
    Twin,
    rows,
)
from evaluation.singles import METHODS, looked_at, singles
from evaluation.truth import Bug, Cause, TruePoint
from evaluation.windows import five_numbers, sizes, together

from unsnarl.analyses.bugaboo import SiteRanking
from unsnarl.analyses.methods import rank_with
from unsnarl.model.event import Op
from unsnarl.model.evidence import Comparison, Evidence, PointTable
from unsnarl.model.graph import EDGE, Graph
from unsnarl.model.pattern import FINE, PATTERN, PatternKind
from unsnarl.model.report import RunCounts
from unsnarl.model.site import Point, Site

# -- ReliefF ------------------------------------------------------------------------------------


def test_relieff_of_a_feature_that_separates_and_one_that_misleads():
    features = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    positive = np.array([True, True, False, False])
    # each one's nearest of its class differs in the second column, of the other in the first
    assert relieff.weights(features, positive, neighbours=1).tolist() == [1.0, -1.0]


@pytest.mark.parametrize(("neighbours", "expected"), [(1, 0.125), (10, 0.3)])
def test_relieff_worked_by_hand(neighbours, expected):
    # From 0 to 1: 0, 0.1 | 0.4, 1. One neighbour: misses .4 .3 .3 .9, hits .1 .1 .6 .6.
    # All of them: misses .7 .6 .35 .95, hits as before.
    features = np.array([[0.0], [1.0], [4.0], [10.0]])
    positive = np.array([True, True, False, False])
    assert relieff.weights(features, positive, neighbours).tolist() == pytest.approx([expected])


def test_relieff_needs_two_of_each_class():
    features = np.array([[0.0], [1.0], [2.0]])
    assert relieff.weights(features, np.array([True, False, False])) is None


def test_a_feature_of_one_value_is_worth_nothing():
    features = np.array([[5.0, 0.0], [5.0, 0.1], [5.0, 0.9], [5.0, 1.0]])
    weights = relieff.weights(features, np.array([True, True, False, False]), 1)
    assert weights[0] == 0 and weights[1] > 0.5


# -- counting -----------------------------------------------------------------------------------


def test_ties_are_averaged_over_all_orders():
    assert looked_at([3, 2, 2, 2, 1], [False, False, True, False, True]) == 1 + 2 / 2 + 1
    assert looked_at([2, 2, 2, 2], [False, True, True, False]) == 2 / 3 + 1
    assert looked_at([5, 4], [True, False]) == 1
    assert looked_at([5, 4], [False, False]) is None
    assert looked_at([], []) is None


def test_inspections_are_counted_as_bugaboo_counts_them():
    draw = random.Random(7)
    for _ in range(50):
        count = draw.randint(1, 12)
        values = np.sort([draw.randint(1, 4) / 4 for _ in range(count)])
        bugs = [draw.random() < 0.3 for _ in range(count)]
        ranked = SiteRanking(np.arange(count), values, np.ones(count, int), np.zeros(count, int))
        found = inspections(ranked, lambda site, bugs=bugs: bugs[site])
        assert looked_at((-values).tolist(), bugs) == (found.points if found else None)


def test_samples_are_seeded_sorted_and_without_repetition():
    chosen = sample(5, 25, "weblech", 1, 5)
    assert chosen == sample(5, 25, "weblech", 1, 5)
    assert len(set(chosen)) == 5 and list(chosen) == sorted(chosen) and max(chosen) < 25
    assert len({sample(5, 25, "weblech", seed, 5) for seed in range(20)}) > 15
    assert sample(15, 11, "workerpool", 1, 15) == tuple(range(11))


def test_new_edges_are_counted_against_those_before():
    graphs = [{(1, 0, 2, 0), (2, 0, 3, 0)}, {(2, 0, 3, 0), (3, 0, 4, 0)}, {(9, 0, 9, 0)}]
    assert bugaboo_tables.added(graphs) == (50.0, pytest.approx(100 / 3))


def test_predicates_of_equal_score_share_a_rank():
    scores, sites = [9.0, 5.0, 5.0, 1.0], [10, 11, 12, 10]
    assert [falcon_tables.shared_rank(scores, sites, site) for site in (10, 11, 12, 13)] == [
        1,
        2,
        2,
        None,
    ]


def test_five_numbers_of_a_boxplot():
    assert five_numbers({3: 2, 5: 1, 9: 1}) == (3, 3, 4, 6, 9)
    assert five_numbers({}) == ()


def patterns(*found: tuple) -> np.ndarray:
    """Patterns as (kind, first, other, last, span), by threads 1 and 2."""
    rows_ = np.zeros(len(found), dtype=PATTERN)
    for row, (kind, first, other, last, span) in zip(rows_, found, strict=True):
        row["kind"], row["span"] = kind, span
        row["first_point"], row["other_point"], row["last_point"] = first, other, last
        row["first_thread"], row["other_thread"] = 1, 2
        row["first_time"], row["other_time"], row["last_time"] = 1, 2, 3
    return rows_


def run(*found: tuple) -> Evidence:
    empty = Evidence(Graph(np.empty(0, dtype=EDGE)))
    return Evidence(empty.graph, patterns(*found), empty.counts, empty.orders)


RWR, WR = PatternKind.RWR, PatternKind.WR


def test_window_sizes_are_those_of_falcons_triples():
    one = run((RWR, 1, 2, 3, 7), (RWR, 1, 2, 3, 4), (RWR + FINE, 1, 2, 4, 3), (WR, 1, 2, 0, 2))
    assert sizes([one, one]) == {4: 2, 7: 2}
    assert sizes([one, one], smallest=True) == {4: 2}
    spans = [Spans("a", 4, 2, {4: 2}, {4: 1}), Spans("b", 4, 2, {4: 1, 9: 1}, {9: 1})]
    assert together(spans, 4) == {4: 3, 9: 1}
    assert together(spans, 4, smallest=True) == {4: 1, 9: 1}
    assert together(spans, 8) == {}


# -- why a method fails -------------------------------------------------------------------------

SOURCE = "check()\nchange()\nuse()\nother()\n"
LINES = ("check()", "change()", "use()")
OPS = (Op.READ, Op.WRITE, Op.READ)


def make_case(tmp_path, failing, passing=(), *, points=((0, 1), (1, 2), (2, 1)), **changes):
    """A case whose point n is on line n + 1; the cause is the given lines with their roles."""
    (tmp_path / "a.py").write_text(SOURCE)
    ops = changes.pop("ops", OPS)
    true = [TruePoint("a.py", "f", LINES[line], ops[line].word, role) for line, role in points]
    cause = Cause("Error", tuple(true))
    bug = Bug("b", "t", "atomicity", "gil", ("x",), ("y",), "s", (cause,), str(tmp_path))
    bug = msgspec.structs.replace(bug, **changes)
    known = [
        Point(Site("a.py", "f", line + 1, line + 1, 0, 1, "attr_load", "x", "v"), op)
        for line, op in enumerate((*ops, Op.READ))
    ]
    four = np.arange(4)
    points = PointTable(
        sync=np.zeros(4, dtype=bool),
        order=four,
        site=four,
        function=np.zeros(4, dtype=int),
        line=four,
    )
    comparison = Comparison(tuple(failing), tuple(passing), points)
    compared = SimpleNamespace(comparison=comparison)
    interner = SimpleNamespace(point=known.__getitem__)
    return Case(bug, 1, cause, SimpleNamespace(), compared, interner, tmp_path)


TRUE = (RWR, 0, 1, 2, 3)
OTHER = (RWR, 0, 1, 3, 3)


def why(case: Case, method: str) -> str:
    answers = rank_with(method, case.comparison)
    rank = next(
        (at for at, one in enumerate(answers, 1) if case.judge(case.points_of(one)).matches), None
    )
    return reasons.of_patterns(case, method, answers, rank)


def test_a_pattern_of_passing_runs_is_no_answer_of_avio(tmp_path):
    case = make_case(tmp_path, [run(TRUE)] * 2, [run(TRUE), run(OTHER), run()])
    assert why(case, "avio") == "its pattern is in 1 of 3 passing runs: thrown away"


def test_avio_may_have_nothing_to_say(tmp_path):
    both = run((RWR, 3, 1, 2, 3), (RWR, 0, 1, 3, 3))
    assert why(make_case(tmp_path, [both], [both]), "avio") == "no triple is in failing runs alone"


def test_avio_has_no_pairs(tmp_path):
    case = make_case(tmp_path, [run((WR, 1, 2, 0, 2))], points=((1, 1), (2, 2)))
    assert why(case, "avio") == "a pair: AVIO looks for triples only"


def test_falcons_windows_merge_accesses_away(tmp_path):
    case = make_case(tmp_path, [run((RWR + FINE, 0, 1, 2, 3))])
    assert why(case, "falcon") == "its pattern is one that Falcon's windows merge away"


def test_a_point_in_no_pattern_is_named(tmp_path):
    case = make_case(tmp_path, [run(OTHER)])
    assert why(case, "falcon") == "not seen: no pattern has the read in `use()`"


def test_the_closest_pattern_misses_a_point(tmp_path):
    case = make_case(tmp_path, [run(OTHER, (RWR, 3, 1, 2, 3))])
    assert why(case, "falcon") == "misses the read in `use()`"


def test_a_low_rank_is_told_with_ties_and_passing_runs(tmp_path):
    better = [(RWR, 3, 1, last, 3) for last in range(3)]
    case = make_case(tmp_path, [run(TRUE, OTHER, *better)], [run(TRUE, OTHER), run()])
    assert why(case, "falcon") == (
        "rank 4: 3 score higher, ties with 1 other, its pattern is in 1 of 2 passing runs"
    )


def test_two_variables_and_locks_are_beyond_patterns(tmp_path):
    case = make_case(tmp_path, [run(OTHER)], type="multi-variable")
    assert why(case, "falcon") == "two variables: no pattern has both"
    case = make_case(tmp_path, [run(OTHER)], ops=(Op.READ, Op.WRITE, Op.WAIT))
    assert why(case, "avio") == "not seen: operations on locks make no patterns"


def test_code_points_above_and_beside_are_counted():
    assert reasons.of_points([3, 2, 2], [False, False, True], "none") == (
        "1 other code point comes first, 1 ties with it"
    )
    assert reasons.of_points([3, 2], [False, False], "none") == "none"


def test_the_first_list_that_shows_the_bug_need_not_tell_it(tmp_path):
    case = make_case(tmp_path, [run(TRUE)])
    lists = [
        (case.point(3), case.point(1, role=2, time=1.0)),
        (case.point(1, role=1, time=1.0), case.point(2, role=2, time=2.0), case.point(3, time=3.0)),
    ]
    assert first_shown(case, lists) == Reconstructed(2, 2, 1, True, 1)
    assert first_shown(case, lists[:1]) is None


def test_a_pattern_may_be_a_part_of_the_cause(tmp_path):
    case = make_case(tmp_path, [run(TRUE)])
    part = (case.point(1, role=1, time=1.0), case.point(2, role=2, time=2.0))
    wrong = (case.point(2, role=1, time=1.0), case.point(1, role=2, time=2.0))
    more = (*part, case.point(3, time=3.0))
    assert falcon_tables.rank_of_part(case, [wrong, more, part]) == 3
    assert falcon_tables.notation(part) == "W1-R2"


# -- the page -----------------------------------------------------------------------------------


def drawn(rank: int | None, seed: int = 1) -> Draw:
    """A draw of weblech whose cause has this rank everywhere."""
    placed = Placed(rank, 3, 3) if rank else None
    shown = Reconstructed(1, 3, 1, True, 0)
    cause = CauseDraw(
        failing=25,
        passing=25,
        rate=0.25,
        joined=dict.fromkeys((5, 15, 25), placed),
        singles={name: Single(rank, "" if rank == 1 else f"{name} is why") for name in METHODS},
        recon=ReconDraw(
            dict.fromkeys((5, 15, 25), rank),
            dict.fromkeys((5, 15, 25), shown),
            shown,
            30,
            (0.5, 0.0, 0.0),
        ),
        bugaboo=BugabooDraw(
            {size: Inspected(1.5, 1.0) if size else None for size in range(6)},
            {0: None, 5: Inspected(4.0, 2.0)},
            6,
            17,
        ),
        falcon=FalconDraw(0.75, 12, 7, 3, rank, 1, "R1-W2-R1", (4, None, 1)),
        variables={
            "joined": Named(("Queue.size", "Queue.top"), 1, 1),
            "recon": Named((), None, 7),
        },
    )
    return Draw("weblech", seed, RunCounts(52, 27, 25, 0), 1.5, 0.5, (cause,))


def weblech(**changes) -> Bug:
    cause = Cause("AttributeError", ())
    bug = Bug("weblech", "t", "atomicity", "gil", ("x",), ("y",), "s", (cause,))
    return msgspec.structs.replace(bug, **changes)


def results(*draws: Draw, **changes) -> Results:
    twins = (Twin("weblech", "gil", 100, 0, 0, 1.0),)
    spans = (Spans("deposits", 4, 5, {3: 4}, {3: 1}),)
    made = Results("cmd", "2026-11-16", "3.11", 2, 60.0, {"draws": 60.0}, draws, twins, spans)
    return msgspec.structs.replace(made, **changes)


def test_results_survive_a_file():
    made = results(drawn(1), drawn(None, 2))
    assert msgspec.json.decode(msgspec.json.encode(made), type=Results) == made


def test_bars_count_draws():
    made = results(*(drawn(1) for _ in range(16)), *(drawn(3) for _ in range(3)), drawn(None))
    found = {bar.text: bar for bar in bars.bars(made, rows(made, [weblech()]))}
    assert found["true cause in the top 3"].part == 19
    assert found["true cause in the top 3"].met
    assert found["true cause at rank 1"].part == 16
    assert found["true cause at rank 1"].met
    assert not bars.Bar("", 0.95, 18, 20).met
    assert not bars.Bar("", 0.0, 0, 0).met


def test_variables_count_only_for_multi_variable_bugs():
    made = results(drawn(1), drawn(1, 2))
    expected = ((weblech(), []), (weblech(type="multi-variable"), [(2, 2), (0, 2)]))
    for bug, counted in expected:
        found = [bar for bar in bars.bars(made, rows(made, [bug])) if "variables" in bar.text]
        assert [(bar.part, bar.whole) for bar in found] == counted


def test_a_finding_on_a_twin_misses_its_bar():
    twins = (Twin("weblech", "gil", 100, 0, 0, 1.0), Twin("weblech", "free", 100, 1, 2, 1.0))
    made = results(drawn(1), twins=twins)
    assert not bars.bars(made, rows(made, [weblech()]))[-1].met
    text = page.page(made, rows(made, [weblech()]), {})
    assert "| weblech | free | 100 | 1 | 2 |" in text


def test_the_page_has_all_parts_and_the_papers_figures():
    made = results(drawn(1), drawn(4, 2), drawn(None, 3))
    bug = weblech(type="multi-variable")
    text = page.page(made, rows(made, [bug, weblech(name="abba")]), {})
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## The joined ranking",
        "## Single methods against the joined ranking",
        "## Multi-variable bugs: which variables are named",
        "## Recon's tables (PLDI 2011)",
        "## Bugaboo's tables (MICRO 2009)",
        "## Falcon's tables (ICSE 2010)",
        "## Fixed twins",
        "## Time",
    ]
    assert "| weblech | 1 4 – |" in text  # every draw, also those that look bad
    assert "| weblech | cci | cci is why |" in text
    assert "6 + 28" in text and "0:13:36" in text  # Recon, table 3
    assert "| weblech | joined | Queue.size, Queue.top | 1 1 1 | 1 1 1 |" in text
    assert "| weblech | recon | – | – – – | 7 7 7 |" in text
    assert "abba" not in text  # nothing of what was not drawn


def test_a_draw_that_broke_off_is_on_the_page():
    broken = Draw(
        "weblech", 2, RunCounts(0, 0, 0, 0), 0.0, 0.0, (None,), "Traceback\nKeyError: 1\n"
    )
    made = results(drawn(1), broken)
    text = page.page(made, rows(made, [weblech()]), {})
    assert "- weblech, seed 2, broke off: `KeyError: 1`" in text
    assert "true cause in the top 3 | 95% | 1 of 2" in text


def test_the_most_frequent_reason_is_given():
    assert bars.most_frequent(["b", "a", "a"]) == "a"
    assert bars.most_frequent(["b", "a"]) == "b"


def test_cells_of_tables():
    assert markdown.table(("a", "b"), [(None, 0.5), (True, "x|y")]).splitlines() == [
        "| a | b |",
        "| --- | --- |",
        "| – | 0.5 |",
        "| yes | x\\|y |",
    ]
    assert markdown.mean([1.0, None, 2.0]) == "1.5 (2/3)"
    assert markdown.mean([None]) == "–"


def test_singles_covers_every_method(tmp_path, monkeypatch):
    case = make_case(tmp_path, [run(TRUE)], [run()])
    monkeypatch.setattr(Case, "findings", lambda *_: ())
    found = singles(case)
    assert set(found) == set(METHODS)
    assert found["falcon"] == Single(1) and found["avio"] == Single(1)
    assert found["recon"] == Single(None, "no answer")
