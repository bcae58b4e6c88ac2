# SPDX-License-Identifier: Apache-2.0
"""Falcon's ranking against the definition, and laws that it must keep."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conformance.tracker_twin import Event, Kind
from tests.conformance.window_twin import PatternKey, Windows
from tests.unit.comparisons import compare, point_table, run

from unsnarl.analyses.answer import Answer
from unsnarl.analyses.baselines import avio
from unsnarl.analyses.falcon import FalconOptions, answers
from unsnarl.model.evidence import Comparison
from unsnarl.model.pattern import PatternKind

POINTS = 7
EMPTY = run()

# As in real runs, a point is a read or a write: so its points tell a pattern's kind.
accesses = st.builds(
    lambda thread, point, cell: Event(thread, point, cell, Kind(1 + point % 2)),
    st.integers(0, 3),
    st.integers(0, POINTS - 1),
    st.integers(1, 2),
)
events = st.lists(accesses, max_size=25)
runs = st.lists(events, max_size=4).map(
    lambda streams: [Windows().feed(stream).drain() for stream in streams]
)
orders = st.permutations(range(POINTS))
formulas = st.sampled_from(["jaccard", "tarantula", "ochiai"])


def comparison(failing: list[Windows], passing: list[Windows], order: list[int]) -> Comparison:
    evidence = [
        [replace(EMPTY, patterns=one.rows()) for one in some] for some in (failing, passing)
    ]
    return compare(*evidence, point_table(POINTS, order=order))


def score(formula: str, failed: int, passed: int, failing: int, passing: int) -> float:
    """Falcon 3.2, formulas 1 and 2; Ochiai from Abreu et al."""
    if formula == "jaccard":
        return failed / (failing + passed)
    if formula == "ochiai":
        return failed / math.sqrt(failing * (failed + passed))
    share = passed / passing if passing else 0.0
    return (failed / failing) / (failed / failing + share)


def key_of(answer: Answer, failing: list[Windows]) -> PatternKey:
    """The pattern that an answer must be: the only one of its run with these points."""
    points = (*(line.point for line in answer.lines), 0)[:3]
    known = [key for key in failing[answer.runs[0]].patterns if key[1:] == points]
    (key,) = [key for key in known if key.kind.is_triple == (len(answer.lines) == 3)]
    return key


@given(runs, runs, orders, formulas)
@settings(deadline=None, max_examples=200)
def test_agrees_with_the_definition(failing, passing, order, formula):
    found = answers(comparison(failing, passing, order), FalconOptions(formula=formula))
    keys = [key_of(answer, failing) for answer in found]
    assert set(keys) == {key for one in failing for key in one.patterns}
    for answer, key in zip(found, keys, strict=True):
        having = [number for number, one in enumerate(failing) if key in one.patterns]
        passed = sum(key in one.patterns for one in passing)
        expected = score(formula, len(having), passed, len(failing), len(passing))
        assert answer.score == pytest.approx(expected)
        assert (list(answer.runs), answer.passing) == (having, passed)
        for number in having:
            value = failing[number].patterns[key]
            threads = (value.first_thread, value.other_thread)
            source, sink = threads[::-1] if key.kind.is_triple else threads
            assert answer.threads[number] == {0: source, 1: sink}
    ranked = [
        (-answer.score, -len(answer.runs), *(order[point] for point in key[1:]), key.kind)
        for answer, key in zip(found, keys, strict=True)
    ]
    assert ranked == sorted(ranked)


@given(runs, runs, orders, st.integers(1, 5))
@settings(deadline=None)
def test_a_shorter_answer_is_the_start_of_a_longer_one(failing, passing, order, keep):
    runs = comparison(failing, passing, order)
    assert answers(runs, FalconOptions(keep=keep)) == answers(runs)[:keep]


@given(runs, runs, orders, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_the_order_of_runs_and_rows_does_not_matter(failing, passing, order, random):
    def ranking() -> list[tuple]:
        found = answers(comparison(failing, passing, order))
        return [(one.score, one.lines, len(one.runs)) for one in found]

    before = ranking()
    for one in (*failing, *passing):
        items = list(one.patterns.items())
        random.shuffle(items)
        one.patterns = dict(items)
    random.shuffle(failing)
    random.shuffle(passing)
    assert ranking() == before


@given(runs, runs, orders)
@settings(deadline=None)
def test_avio_has_the_triples_that_no_passing_run_has(failing, passing, order):
    found = avio.answers(comparison(failing, passing, order))
    allowed = {key for one in passing for key in one.patterns}
    suspects = {key for one in failing for key in one.patterns} - allowed
    triples = {key for key in suspects if key.kind.is_triple and key.kind != PatternKind.WWW}
    assert {key_of(answer, failing) for answer in found} == triples
    scores = [answer.score for answer in found]
    assert scores == sorted((len(answer.runs) for answer in found), reverse=True)
