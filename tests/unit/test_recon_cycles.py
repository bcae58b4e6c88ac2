# SPDX-License-Identifier: Apache-2.0
"""Recon with what start and join order left out, and with the other variable told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from tests.unit.comparisons import compare, edge, pattern, run

from unsnarl.analyses.recon.answers import answers
from unsnarl.model.evidence import ORDER
from unsnarl.model.ordered import open_graph
from unsnarl.model.pattern import PatternKind

X, Y = 0x10, 0x20
LOOK, REPLACE, CLOSE, USE = 1, 2, 3, 4


def failing(*, closes=True):
    """Thread 1 looks at X before thread 2 replaces it, and uses Y after thread 2 closed it."""
    late = edge(CLOSE, USE, threads=(2, 1), time=20) | {"cell": Y}
    early = pattern(PatternKind.RW, LOOK, REPLACE, threads=(1, 2), time=10) | {"cell": X}
    return run(edges=[late], patterns=[early] if closes else [])


def told(answer):
    return [(line.point, line.role) for line in answer.lines]


def test_the_conflict_that_goes_the_other_way_is_told_too():
    (best,) = answers(compare([failing()] * 4, [run()] * 4))
    assert told(best) == [(LOOK, 1), (REPLACE, 2), (CLOSE, 2), (USE, 1)]
    assert [line.same_cell for line in best.lines] == [0.0, 0.0, 1.0, 1.0]


def test_it_must_be_there_nearly_always():
    runs = [failing()] * 2 + [failing(closes=False)] * 2
    (best,) = answers(compare(runs, [run()] * 4))
    assert [point for point, _ in told(best)] == [CLOSE, USE]


def test_an_order_that_start_enforces_is_no_edge():
    evidence = run(edges=[edge(LOOK, USE, threads=(0, 1), time=3)])
    started = replace(evidence, orders=np.array([(1, 0, 4, 4)], dtype=ORDER))
    late = replace(evidence, orders=np.array([(1, 0, 2, 2)], dtype=ORDER))
    assert len(open_graph(started.graph, started.orders)) == 0
    assert len(open_graph(late.graph, late.orders)) == 1
    assert answers(compare([started] * 3, [run()])) == []
