# SPDX-License-Identifier: Apache-2.0
"""Recon's answers: two rankings in one, and that the fast ways count what the slow ones do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.unit.comparisons import compare, edge, point_table, run

from unsnarl.analyses.answer import Answer
from unsnarl.analyses.recon import Focus, Focused, ReconOptions, focus, rank
from unsnarl.analyses.recon.answers import CONTEXT_SIZES, SUSPICIOUS, answers
from unsnarl.model.evidence import Comparison, Evidence
from unsnarl.model.graph import EDGE, Graph

POINTS = 12
LOCKS = (8, 9)


def with_locks(comparison: Comparison) -> Comparison:
    """Points 8 and 9 are lock operations."""
    sync = np.isin(np.arange(len(comparison.points.order)), LOCKS)
    return replace(comparison, points=replace(comparison.points, sync=sync))


def test_nothing_failing_nothing_answered():
    assert answers(compare([], [run([edge(1, 2)])])) == []
    assert answers(compare([run()], [run()])) == []


def test_an_answer_has_the_features_of_its_edge_and_the_passing_runs_with_it():
    failing = [run([edge(1, 2), edge(3, 4, time=10)])] * 2
    passing = [run([edge(3, 4)]), run([edge(3, 4), edge(1, 2, contexts=(0, 1))]), run()]
    found = {one.lines[0].point: one for one in answers(compare(failing, passing), settings=ENDS)}
    assert found[1].method == "recon"
    assert found[1].features["B"] == 4.0 and found[1].passing == 0
    assert found[3].passing == 2
    assert found[1].runs == found[3].runs == (0, 1)


def test_passing_runs_are_counted_at_the_context_size_of_the_answer():
    failing = [run([edge(1, 2, contexts=(0o100 * n, 0))]) for n in range(4)]
    passing = [run([edge(1, 2, contexts=(0o100 * n, 0))]) for n in (4, 5)] + [run()] * 6
    (only,) = answers(compare(failing, passing), settings=ENDS)
    assert (only.features["B"], only.passing, only.runs) == (4.0, 2, (0, 1, 2, 3))


ENDS = Focus(same_cell=2, separation=2, minimum=0)  # only source and sink are shown


def locks_and_data(telling: bool) -> Comparison:
    """Failing runs always take the locks in this order; data tells less, or not at all."""
    failing = [run([edge(8, 9, time=20), edge(1, 2)])] * 4
    passing = [run([] if telling else [edge(1, 2)])] * 4 + [run([edge(1, 2)])]
    return with_locks(compare(failing, passing))


def test_data_comes_before_locks_if_it_tells():
    comparison = locks_and_data(telling=True)
    first, second = answers(comparison, settings=ENDS)
    assert first.lines[0].point == 1 and second.lines[0].point == 8
    assert SUSPICIOUS <= first.features["B"] < second.features["B"]


def test_locks_come_first_if_no_data_tells():
    comparison = locks_and_data(telling=False)
    first, second = answers(comparison, settings=ENDS)
    assert (first.lines[0].point, second.lines[0].point) == (8, 1)


def test_threads_are_those_of_the_latest_occurrence_in_each_run():
    early = edge(1, 2, contexts=(0o100, 0), threads=(3, 4), time=0)
    late = edge(1, 2, threads=(5, 6), time=50)
    failing = [run([early, late]), run([late, early]), run([edge(1, 2, threads=(7, 8))])]
    (only,) = answers(compare(failing), context_sizes=(0,), settings=ENDS)
    assert only.threads == {0: {0: 5, 1: 6}, 1: {0: 5, 1: 6}, 2: {0: 7, 1: 8}}


def test_other_threads_are_found_by_the_points_of_their_lines():
    rows = [edge(3, 4, threads=(7, 1), time=0), edge(1, 2, threads=(1, 2), time=10)]
    (first, *_) = [
        one
        for one in answers(compare([run(rows)] * 2, [run()] * 2))
        if {line.point for line in one.lines if line.is_end} == {1, 2}
    ]
    (other,) = [line for line in first.lines if line.anchor > 1]
    assert other.point == 3
    assert first.threads[0] == {0: 1, 1: 2, other.anchor: 7}


# The straightforward way: each ranking for itself, everything reconstructed.


def expected(comparison: Comparison) -> list[Focused]:
    failing = [one.graph for one in comparison.failing]
    passing = [one.graph for one in comparison.passing]
    options = ReconOptions(
        sync_points=comparison.points.sync,
        site_order=comparison.points.order,
        timeline="all",
        context_sizes=CONTEXT_SIZES,
    )
    data = replace(options, sync="drop")
    first = focus(rank(failing, passing, data), passing, data, failing=failing)
    both = focus(rank(failing, passing, options), passing, options, failing=failing)
    if not first or first[0].reconstruction.features["B"] < SUSPICIOUS:
        return both
    shown = {one.lines for one in first}
    return (first + [one for one in both if one.lines not in shown])[: len(both)]


def random_run(rng: np.random.Generator, contexts: int) -> Evidence:
    """A run with long and short bodies, some moments at the same time, each in one thread."""
    size = int(rng.integers(0, 60))
    keys = np.unique(
        np.stack((*rng.integers(0, POINTS, (2, size)), *rng.integers(0, contexts, (2, size)))),
        axis=1,
    )
    edges = np.zeros(keys.shape[1], dtype=EDGE)
    names = ("source_point", "sink_point", "source_context", "sink_context")
    for name, column in zip(names, rng.permutation(keys, axis=1), strict=True):
        edges[name] = column
    times = np.sort(rng.integers(0, 3 * len(edges) + 1, (2, len(edges))), axis=0)
    for end, moments in zip(("source", "sink"), times, strict=True):
        edges[f"{end}_time"] = moments
        edges[f"{end}_thread"] = moments * 7 % 5
    edges["cell"] = rng.integers(0, 4, len(edges))
    return Evidence(Graph(edges))


def random_comparison(seed: int, contexts: int = 1024) -> Comparison:
    rng = np.random.default_rng(seed)
    failing, passing = (
        [random_run(rng, contexts) for _ in range(rng.integers(1, 6))] for _ in range(2)
    )
    where = point_table(POINTS, order=rng.permutation(POINTS).tolist())
    return with_locks(compare(failing, passing, where))


def same(found: list[Answer], wanted: list[Focused], comparison: Comparison) -> None:
    assert [one.lines for one in found] == [one.lines for one in wanted]
    for one, focused in zip(found, wanted, strict=True):
        reconstruction = focused.reconstruction
        assert (one.score, one.features) == (reconstruction.score, reconstruction.features)
        assert one.runs == reconstruction.runs
        occurs = [reconstruction.occurrence(run.graph) is not None for run in comparison.passing]
        assert one.passing == sum(occurs)
        for number in one.runs:
            row = reconstruction.occurrence(comparison.failing[number].graph)
            ends = {0: row["source_thread"], 1: row["sink_thread"]}
            assert ends.items() <= one.threads[number].items()


@pytest.mark.parametrize("seed", range(24))
def test_the_same_as_two_rankings(seed):
    comparison = random_comparison(seed, contexts=(1, 16, 1024, 32768)[seed % 4])
    same(answers(comparison), expected(comparison), comparison)


RECON = "unsnarl.analyses.recon"


@pytest.mark.parametrize("seed", range(40, 46))
@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"counting._SORTED": 1e99}, id="by-node"),
        pytest.param({"counting._SORTED": 1e99, "counting._TABLE": 1}, id="by-node-singly"),
        pytest.param({"counting._SORTED": 0.0, "counting._ENTRIES": 16}, id="by-instant-in-chunks"),
        pytest.param({"features._PART": 8, "features._SAMPLE": 2}, id="edges-in-parts"),
        pytest.param({"ranking._FIRST_BATCH": 1, "ranking._LAST_BATCH": 4}, id="small-batches"),
        pytest.param({"ranking._AT_ONCE": 1, "timelines._VIEWS": 0}, id="one-view-at-a-time"),
        pytest.param({"numbering._TABLE_FACTOR": 0}, id="numbers-by-search"),
        pytest.param({"resolution._BITS": 0}, id="numbered-pairs"),
    ],
)
def test_however_large_runs_are_dealt_with(seed, settings, monkeypatch):
    comparison = random_comparison(seed, contexts=(16, 1024)[seed % 2])
    wanted = answers(comparison)
    for name, value in settings.items():
        monkeypatch.setattr(f"{RECON}.{name}", value)
    assert answers(comparison) == wanted
