# SPDX-License-Identifier: Apache-2.0
"""Bugaboo's tables 2 and 4 and its figure 7, redone on one case."""

from __future__ import annotations

import random
from collections.abc import Iterable

from evaluation.cases import Case
from evaluation.draws import sample
from evaluation.results import BugabooDraw, Inspected
from unsnarl.analyses.bugaboo import Options, inspections, ranking
from unsnarl.model.evidence import Comparison, Evidence

SIZES = (0, 1, 2, 3, 4, 5)
DEFAULT = 5
UNLABELLED_RUNS = 25  # a trial without labels (6.2)
CONVERGING = ("binlog", "apachelog", "pbzip2")  # the programs of figure 7

Edge = tuple[int, int, int, int]


def measure(case: Case) -> BugabooDraw:
    """All figures of Bugaboo on one case."""
    trial = unlabelled_trial(case)
    runs = [*trial.failing, *trial.passing]
    return BugabooDraw(
        labelled={size: _inspected(case, case.comparison, True, size) for size in SIZES},
        unlabelled={size: _inspected(case, trial, False, size) for size in (0, DEFAULT)},
        failing_of_unlabelled=len(trial.failing),
        added=_convergence(runs, case) if case.bug.name in CONVERGING else {},
    )


def unlabelled_trial(case: Case) -> Comparison:
    """25 runs of which as many fail as in the hunt, and at least one (Bugaboo 6.2)."""
    whole, rate = case.comparison, case.shown.rate
    chance = random.Random(f"{case.bug.name}/{case.seed}/unlabelled")
    failing = sum(chance.random() < rate for _ in range(UNLABELLED_RUNS))
    failing = max(1, min(failing, len(whole.failing)))
    seed = (case.bug.name, case.seed, "unlabelled")
    bad = sample(failing, len(whole.failing), *seed)
    good = sample(UNLABELLED_RUNS - failing, len(whole.passing), *seed)
    return Comparison(
        tuple(whole.failing[at] for at in bad),
        tuple(whole.passing[at] for at in good),
        whole.places,
    )


def _inspected(case: Case, runs: Comparison, labelled: bool, size: int) -> Inspected | None:
    ranked = ranking(runs, Options(labelled=labelled, context_size=size))
    found = inspections(ranked, case.is_bug_site)
    return Inspected(found.points, found.functions) if found else None


def _convergence(runs: list[Evidence], case: Case) -> dict[int, tuple[float, ...]]:
    random.Random(f"{case.bug.name}/{case.seed}/order").shuffle(runs)
    return {size: added([_edges(run, size) for run in runs]) for size in SIZES}


def added(graphs: Iterable[set[Edge]]) -> tuple[float, ...]:
    """How much each graph after the first adds, in percent of the union of those before it."""
    known: set[Edge] = set()
    shares = []
    for graph in graphs:
        if known:
            shares.append(100 * len(graph - known) / len(known))
        known |= graph
    return tuple(shares)


def _edges(run: Evidence, size: int) -> set[Edge]:
    mask = (1 << 2 * size) - 1
    rows = run.graph.edges
    columns = (
        rows["source_point"],
        rows["source_context"] & mask,
        rows["sink_point"],
        rows["sink_context"] & mask,
    )
    return set(zip(*(column.tolist() for column in columns), strict=True))
