# SPDX-License-Identifier: Apache-2.0
"""Bugaboo's ranking against the definition, and laws that it must keep."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.comparisons import compare, counted, edge, point_table, run

from unsnarl.analyses.bugaboo import BugabooOptions, answers, ranking
from unsnarl.model.evidence import Comparison
from unsnarl.model.graph import context_mask

SITES = [0, 0, 1, 2, 2, 3]  # by point
Node = tuple[int, int]  # point, context


class Run(NamedTuple):
    edges: dict[tuple[Node, Node], int]
    executed: dict[int, int]


nodes = st.tuples(st.integers(0, len(SITES) - 1), st.integers(0, 63))
runs = st.lists(
    st.builds(
        Run,
        edges=st.dictionaries(st.tuples(nodes, nodes), st.integers(1, 4), max_size=8),
        executed=st.dictionaries(st.sampled_from(SITES), st.integers(1, 9)),
    ),
    max_size=4,
)
options = st.builds(BugabooOptions, labelled=st.booleans(), context_size=st.integers(0, 2))


def comparison(failing: list[Run], passing: list[Run], order: list[int]) -> Comparison:
    def evidence(one: Run):
        rows = [
            edge(source[0], sink[0], contexts=(source[1], sink[1]), time=time, count=count)
            for time, ((source, sink), count) in enumerate(one.edges.items())
        ]
        return run(
            rows, counts=[counted(site, one.executed[site]) for site in sorted(one.executed)]
        )

    where = point_table(len(SITES), sites=SITES, order=order)
    return compare(map(evidence, failing), map(evidence, passing), where)


def cut(one: Run, size: int) -> set[tuple[Node, Node]]:
    """The edges of a run with shorter contexts."""
    mask = context_mask(size)
    return {((u[0], u[1] & mask), (v[0], v[1] & mask)) for u, v in one.edges}


def executions(one: Run) -> Counter[int]:
    """By site: what was counted; where nothing was, what the edges say."""
    seen: Counter[int] = Counter()
    for ends, count in one.edges.items():
        for point, _ in ends:
            seen[SITES[point]] += count
    return Counter({**seen, **one.executed})


def oracle(failing: list[Run], passing: list[Run], options: BugabooOptions) -> dict[int, float]:
    """Design section 7, word by word."""
    normal = {e for one in passing for e in cut(one, options.context_size)}
    ranked = failing if options.labelled else failing + passing
    in_context: Counter[tuple[int, int]] = Counter()
    executed: Counter[int] = Counter()
    for one in ranked:
        edges = cut(one, options.context_size) - (normal if options.labelled else set())
        ends = {end for pair in edges for end in pair}
        in_context.update({(SITES[point], context) for point, context in ends})
        executed.update(executions(one))
    return {
        site: sum(n for (other, _), n in in_context.items() if other == site) / executed[site]
        for site, _ in in_context
    }


@given(runs, runs, st.permutations(range(len(SITES))), options)
@settings(deadline=None, max_examples=200)
def test_agrees_with_the_definition(failing, passing, order, options):
    found = ranking(comparison(failing, passing, order), options)
    values = dict(zip(found.sites.tolist(), found.values.tolist(), strict=True))
    assert values == pytest.approx(oracle(failing, passing, options))
    place = {site: min(order[p] for p, s in enumerate(SITES) if s == site) for site in SITES}
    rows = zip(found.values.tolist(), found.runs.tolist(), found.sites.tolist(), strict=True)
    keys = [(value, -runs, place[site]) for value, runs, site in rows]
    assert keys == sorted(keys)


@given(runs, runs, st.permutations(range(len(SITES))), options)
@settings(deadline=None, max_examples=200)
def test_every_answer_shows_a_pair_that_counts(failing, passing, order, options):
    data = comparison(failing, passing, order)
    ranked, found = ranking(data, options), answers(data, options)
    assert [one.features["rank"] for one in found] == ranked.values.tolist()
    normal = {e for one in passing for e in cut(one, options.context_size)}
    aside = normal if options.labelled else set()
    left = [[cut(one, options.context_size) - aside for one in some] for some in (failing, passing)]
    for site, answer in zip(ranked.sites.tolist(), found, strict=True):
        pair = tuple(line.point for line in answer.lines)
        assert site in {SITES[point] for point in pair}
        having = [
            [number for number, edges in enumerate(some) if site in _sites(edges)] for some in left
        ]
        assert list(answer.runs) == having[0] == list(answer.threads)
        assert answer.passing == (0 if options.labelled else len(having[1]))
        most = _runs_of_pairs(left[0], site)
        assert most[pair] == max(most.values(), default=0)


def _sites(edges: set[tuple[Node, Node]]) -> set[int]:
    return {SITES[end[0]] for pair in edges for end in pair}


def _runs_of_pairs(runs: list[set[tuple[Node, Node]]], site: int) -> Counter[tuple[int, int]]:
    """In how many runs each pair of points is that the site is in."""
    pairs: Counter[tuple[int, int]] = Counter()
    for edges in runs:
        points = {(source[0], sink[0]) for source, sink in edges}
        pairs.update(pair for pair in points if site in {SITES[point] for point in pair})
    return pairs
