# SPDX-License-Identifier: Apache-2.0
"""Recon's tables 1 and 3 and its figure 6, redone on one case."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np

from evaluation import relieff
from evaluation.cases import Case, Points, place, rank_of
from evaluation.draws import sample
from evaluation.results import ALL, ReconDraw, Reconstructed
from unsnarl.analyses.methods import rank_with
from unsnarl.analyses.recon import Options, Reconstruction, rank
from unsnarl.analyses.recon.reconstruction import REGIONS, time_of
from unsnarl.model.finding import FindingPoint
from unsnarl.reports.patterns import FAIL

FEW = (5, 15)  # table 3, columns 6 and 7
CONTEXT = 5
RECONSTRUCTIONS = 2000  # figure 6
FEATURES = ("B", "R", "C")
PLOTTED = ("apachelog", "binlog", "pbzip2", "aget")  # the programs of table 1


def measure(case: Case) -> ReconDraw:
    """All figures of Recon on one case."""
    reconstructions = published(case)
    whole = [_points(case, one) for one in reconstructions]
    by_number = {number: _reported(case, number) for number in (*FEW, ALL)}
    weights, features = _features(case, reconstructions)
    return ReconDraw(
        strict={number: rank_of(place(case, told)) for number, told in by_number.items()},
        shown={number: first_shown(case, told) for number, told in by_number.items()},
        whole=first_shown(case, whole),
        weights=weights,
        features=features if case.bug.name in PLOTTED else (),
    )


def published(case: Case) -> list[Reconstruction]:
    """Reconstructions as the paper makes them: one size of contexts, nothing trimmed."""
    comparison = case.comparison
    options = Options(
        edges=RECONSTRUCTIONS,
        keep=RECONSTRUCTIONS,
        sync_points=comparison.places.sync,
        site_order=comparison.places.order,
        context_sizes=(CONTEXT,),
    )
    failing = [run.graph for run in comparison.failing]
    passing = [run.graph for run in comparison.passing]
    return rank(failing, passing, options)


def _reported(case: Case, failing: int) -> list[Points]:
    """What the method shows with so many failing runs."""
    total = len(case.comparison.failing)
    chosen = sample(failing, total, case.bug.name, case.seed, failing)
    answers = rank_with("recon", case.with_failing(chosen))
    return [finding.points for finding in case.reported("recon", answers, chosen)]


def first_shown(case: Case, told: Iterable[Points]) -> Reconstructed | None:
    """The first list of points that shows the bug: two true accesses of two threads, in order."""
    for number, points in enumerate(told, 1):
        accesses = [point for point in points if point.op != FAIL]
        true = {_identity(point): case.true_points(point) for point in accesses}
        if not _illustrates(case, points):
            continue
        present = sorted({at for found in true.values() for at in found})
        return Reconstructed(
            rank=number,
            relevant=sum(map(bool, true.values())),
            irrelevant=sum(not found for found in true.values()),
            ordered=case.judge(points, present).tells,
            missing=len(case.cause.points) - len(present),
        )
    return None


def _illustrates(case: Case, points: Points) -> bool:
    return any(case.judge(points, pair).tells for pair in conflicts(case))


def conflicts(case: Case) -> list[tuple[int, int]]:
    """Pairs of the cause's points that are of different threads, in its order."""
    points = case.cause.points
    pairs = combinations(range(len(points)), 2)
    return [(one, other) for one, other in pairs if points[one].role != points[other].role]


def _identity(point: FindingPoint) -> tuple[str, str, int, str]:
    return point.file, point.function, point.line, point.op


def _points(case: Case, one: Reconstruction) -> Points:
    """A reconstruction as a list of points, untrimmed."""
    return tuple(
        case.point(node.point, region, node.role, time_of(region, node))
        for region in REGIONS
        for node in one.regions[region]
    )


def _features(
    case: Case, ranked: Sequence[Reconstruction]
) -> tuple[tuple[float, float, float] | None, tuple[tuple[float, float, float, bool], ...]]:
    """ReliefF of B, R and C, and the features themselves, from 0 to 1."""
    if not ranked:
        return None, ()
    table = np.array([[one.features[name] for name in FEATURES] for one in ranked])
    buggy = np.array([is_buggy(case, one) for one in ranked], dtype=bool)
    found = relieff.weights(table, buggy)
    rows = zip(relieff.scaled(table).tolist(), buggy.tolist(), strict=True)
    features = tuple((round(b, 4), round(r, 4), round(c, 4), bug) for (b, r, c), bug in rows)
    return None if found is None else _three(found.tolist()), features


def _three(values: Sequence[float]) -> tuple[float, float, float]:
    first, second, third = values
    return first, second, third


def is_buggy(case: Case, one: Reconstruction) -> bool:
    """Whether its edge joins two true accesses of different threads, in the order of the bug."""
    ends = [(i, j) for i in case.true(one.source.point) for j in case.true(one.sink.point)]
    return any(pair in conflicts(case) for pair in ends)
