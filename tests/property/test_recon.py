# SPDX-License-Identifier: Apache-2.0
"""The ranking against a slow and obvious one, and laws that it must keep."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unsnarl.analyses.recon import Focus, ReconOptions, Reconstruction, focus, rank
from unsnarl.model.graph import EDGE, Graph

Node = tuple[int, int]
Edge = tuple[Node, Node]
POINTS = 6
SYNC = np.array([False] * 4 + [True] * 2)


@dataclass
class Row:
    edge: Edge
    times: tuple[int, int]
    threads: tuple[int, int]
    cell: int


def to_graph(rows: list[Row]) -> Graph:
    edges = np.zeros(len(rows), dtype=EDGE)
    for place, row in enumerate(rows):
        (source, source_context), (sink, sink_context) = row.edge
        edges[place] = (
            source,
            sink,
            source_context,
            sink_context,
            *row.threads,
            *row.times,
            row.cell,
            1,
            0,
        )
    return Graph(edges)


@st.composite
def runs(draw: st.DrawFn) -> list[Row]:
    """A run whose events have distinct times, as under one logical clock."""
    nodes = st.tuples(st.integers(0, POINTS - 1), st.integers(0, 2))
    edges = draw(st.lists(st.tuples(nodes, nodes), unique=True, max_size=9))
    times = draw(st.permutations(range(2 * len(edges))))
    rows = []
    for place, edge in enumerate(edges):
        first, last = sorted(times[2 * place : 2 * place + 2])
        threads = draw(st.permutations(range(3)))[:2]
        rows.append(Row(edge, (first, last), (threads[0], threads[1]), draw(st.integers(0, 2))))
    return rows


def oracle_timeline(rows: list[Row], *, every: bool, data_only: bool) -> list[tuple[int, Node]]:
    moments = {
        (time, node)
        for row in rows
        for time, node in zip(row.times, row.edge, strict=True)
        if not (data_only and SYNC[node[0]])
    }
    if not every:
        latest = {node: time for time, node in sorted(moments)}
        moments = {(time, node) for node, time in latest.items()}
    return sorted(moments)


def oracle(failing: list[list[Row]], passing: list[list[Row]], options: ReconOptions):
    """Design section 7, word by word: {edge: (score, B, C, R, runs, confidences)}."""
    failing_edges = Counter(row.edge for run in failing for row in run)
    passing_edges = Counter(row.edge for run in passing for row in run)

    def frequency(edge: Edge) -> float:
        share = passing_edges[edge] / len(passing) if passing_edges[edge] else 0
        return (failing_edges[edge] / len(failing)) / (share or 1 / (len(passing) + 1))

    def contexts(counted: Counter[Edge], edge: Edge) -> int:
        pair = (edge[0][0], edge[1][0])
        return len({(u[1], v[1]) for u, v in counted if (u[0], v[0]) == pair})

    result = {}
    for edge in failing_edges:
        sync = bool(SYNC[edge[0][0]] or SYNC[edge[1][0]])
        if sync and options.sync == "drop":
            continue
        data_only = options.sync == "drop" or (options.sync == "auto" and not sync)
        regions, having = oracle_regions(failing, edge, options, data_only)
        in_fail, in_pass = contexts(failing_edges, edge), contexts(passing_edges, edge)
        ratio = abs(in_fail - in_pass) / (in_fail + in_pass)
        confidences = [share for region in regions.values() for share in region.values()]
        mean = sum(confidences) / len(confidences) if confidences else 0.0
        score = 1.0
        for feature in (frequency(edge), ratio, mean):
            score *= feature or 1.0
        result[edge] = (score, frequency(edge), ratio, mean, having, regions)
    return result


def oracle_regions(failing: list[list[Row]], edge: Edge, options: ReconOptions, data_only: bool):
    counts: dict[str, Counter[Node]] = defaultdict(Counter)
    having = []
    for number, run in enumerate(failing):
        for row in run:
            if row.edge != edge:
                continue
            having.append(number)
            first, last = row.times
            line = oracle_timeline(run, every=options.timeline == "all", data_only=data_only)
            before = [node for time, node in line if time < first]
            after = [node for time, node in line if time > last]
            counts["prefix"].update(set(before[-options.window :]))
            counts["body"].update({node for time, node in line if first < time < last})
            counts["suffix"].update(set(after[: options.window]))
    regions = {
        name: {
            node: count / len(having)
            for node, count in region.items()
            if count >= max(region.values()) / 2
        }
        for name, region in counts.items()
    }
    return regions, having


def edge_of(one: Reconstruction) -> Edge:
    return (one.source.point, one.source.context), (one.sink.point, one.sink.context)


many_runs = st.lists(runs(), min_size=1, max_size=5)
any_options = st.builds(
    ReconOptions,
    window=st.integers(1, 6),
    sync=st.sampled_from(["keep", "drop", "auto"]),
    timeline=st.sampled_from(["latest", "all"]),
    sync_points=st.just(SYNC),
)


@given(many_runs, st.lists(runs(), max_size=5), any_options)
@settings(deadline=None, max_examples=200)
def test_agrees_with_the_definition(failing, passing, options):
    ranked = rank([to_graph(r) for r in failing], [to_graph(r) for r in passing], options)
    expected = oracle(failing, passing, options)
    assert {edge_of(one) for one in ranked} == set(expected)
    for one in ranked:
        score, frequency, variation, mean, having, regions = expected[edge_of(one)]
        assert one.score == pytest.approx(score)
        assert one.features == pytest.approx({"B": frequency, "C": variation, "R": mean})
        assert list(one.runs) == having
        for name, nodes in regions.items():
            found = {(node.point, node.context): node.confidence for node in one.regions[name]}
            assert found == pytest.approx(nodes)


@given(many_runs, many_runs, st.integers(1, 4))
@settings(deadline=None)
def test_a_shorter_answer_is_the_start_of_a_longer_one(failing, passing, keep):
    failing, passing = [to_graph(r) for r in failing], [to_graph(r) for r in passing]
    everything = rank(failing, passing, ReconOptions())
    assert rank(failing, passing, ReconOptions(keep=keep)) == everything[:keep]
    scores = [one.score for one in everything]
    assert scores == sorted(scores, reverse=True)


@given(many_runs, many_runs, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_the_order_of_runs_and_rows_does_not_matter(failing, passing, random):
    def ranking(failing, passing):
        ranked = rank([to_graph(r) for r in failing], [to_graph(r) for r in passing])
        return [(one.edge, one.score, one.regions) for one in ranked]

    before = ranking(failing, passing)
    for runs_ in (failing, passing, *failing, *passing):
        random.shuffle(runs_)
    assert ranking(failing, passing) == before


@given(many_runs, st.lists(runs(), max_size=4), any_options)
@settings(deadline=None)
def test_focus_keeps_the_ends_the_order_and_the_limit(failing, passing, options):
    passing_graphs = [to_graph(r) for r in passing]
    ranked = rank([to_graph(r) for r in failing], passing_graphs, options)
    wanted = Focus(limit=4)
    findings = focus(ranked, passing_graphs, options, wanted)
    shown = [tuple((line.point, line.role) for line in one.lines) for one in findings]
    assert len(set(shown)) == len(shown) <= wanted.findings
    for one in findings:
        regions = [line.region for line in one.lines]
        assert regions.count("source") == regions.count("sink") == 1
        assert len(one.lines) <= wanted.limit
        assert [line.time for line in one.lines] == sorted(line.time for line in one.lines)
        roles = [line.role for line in one.lines]
        assert sorted(set(roles), key=roles.index) == list(range(1, len(set(roles)) + 1))
