# SPDX-License-Identifier: Apache-2.0
"""Recon's tables 1 and 3 and its figure 6, redone: measured on one case, shown for all."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

import numpy as np

from evaluation import markdown, relieff
from evaluation.cases import Case, Points, place, rank_of
from evaluation.papers import RECON_1, RECON_3
from evaluation.results import ALL, CauseDraw, ReconDraw, Reconstructed, Row
from unsnarl.analyses.recon import ReconOptions, Reconstruction, rank
from unsnarl.analyses.recon.reconstruction import REGIONS, time_of
from unsnarl.model.report import FindingPoint
from unsnarl.reports.patterns import FAIL

FEW = (5, 15)  # table 3, columns 6 and 7
CONTEXT = 5
RECONSTRUCTIONS = 2000  # figure 6
FEATURES = ("B", "R", "C")
TOPS = (1, 3, 5)
PLOTTED = ("apachelog", "binlog", "pbzip2", "aget")  # the programs of table 1


def measure(case: Case) -> ReconDraw:
    """All figures of Recon on one case."""
    reconstructions = published(case)
    whole = [_points(case, one) for one in reconstructions]
    by_number = {
        number: [finding.points for finding in case.findings("recon", number)]
        for number in (*FEW, ALL)
    }
    weights, features = _features(case, reconstructions)
    return ReconDraw(
        strict={number: rank_of(place(case, lists)) for number, lists in by_number.items()},
        shown={number: first_shown(case, lists) for number, lists in by_number.items()},
        whole=first_shown(case, whole),
        reconstructions=len(reconstructions),
        weights=weights,
        features=features if case.bug.name in PLOTTED else (),
    )


def published(case: Case) -> list[Reconstruction]:
    """Reconstructions as the paper makes them: one size of contexts, nothing trimmed."""
    comparison = case.comparison
    options = ReconOptions(
        edges=RECONSTRUCTIONS,
        keep=RECONSTRUCTIONS,
        sync_points=comparison.points.sync,
        site_order=comparison.points.order,
        context_sizes=(CONTEXT,),
    )
    failing = [run.graph for run in comparison.failing]
    passing = [run.graph for run in comparison.passing]
    return rank(failing, passing, options)


def first_shown(case: Case, lists: Iterable[Points]) -> Reconstructed | None:
    """The first list of points that shows the bug: two true accesses of two threads, in order."""
    for number, points in enumerate(lists, 1):
        accesses = [point for point in points if point.op != FAIL]
        true = {_identity(point): case.true_points(point) for point in accesses}
        if not _illustrates(case, points):
            continue
        present = sorted({at for found in true.values() for at in found})
        return Reconstructed(
            rank=number,
            relevant=sum(map(bool, true.values())),
            irrelevant=sum(not found for found in true.values()),
            ordered=case.judge(points, present).matches,
            missing=len(case.cause.points) - len(present),
        )
    return None


def _illustrates(case: Case, points: Points) -> bool:
    return any(case.judge(points, pair).matches for pair in conflicts(case))


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


def section(found: Sequence[Row], figures: dict[str, str]) -> str:
    """The page's part on Recon."""
    return markdown.sections(
        "## Recon's tables (PLDI 2011)",
        "### Table 1: ReliefF of the features",
        "A reconstruction counts as buggy if its edge joins two accesses of the cause, of two "
        "threads, in the order of the bug; the paper's authors judged by hand. Values are means "
        "over the draws. What differs: in a kernel the same two accesses also communicate in "
        "passing runs, in other contexts, each of which is a reconstruction of its own. And "
        f"{_reconstructions(found)}, nearly all of them close to the bug; the paper takes the best "
        "2000 of a full program, most of which have nothing to do with it.",
        _table_1(found),
        "### Figure 6: the features pair by pair",
        "The programs of table 1, all reconstructions of the first draw, features from 0 to 1, "
        "those that show the bug circled. The paper shows apache.",
        figures.get("recon-features", ""),
        "### Table 3: properties of the reconstructions",
        "The first reconstruction that shows the bug at all (two true accesses of two threads, in "
        "order): the paper's looser criterion, as far as a program can apply it. *Relevant* are "
        "code points of the cause itself, two to four of them; the paper also counts what depends "
        "on them, so its numbers are larger. *shown* is what our findings show, trimmed; *whole* "
        "is the reconstruction as the paper makes it, and *as published* the rank among those: one "
        "size of contexts, nothing trimmed (edges whose source is a read are ours). Ranks are "
        "those of all draws, the other figures medians. *strict* is the rank by the criterion of "
        "the bars, *collecting* the time of the hunt; the paper gives it for full programs.",
        _table_3(found),
        "### The number of failing runs",
        "How many draws have the true cause at the top (strict criterion), by the number of "
        "failing runs.",
        _by_number(found),
        figures.get("recon-sensitivity", ""),
    )


def _reconstructions(found: Sequence[Row]) -> str:
    numbers = [draw.recon.reconstructions for row in found for draw in row.known]
    if not numbers:
        return "there are no reconstructions here"
    return f"a draw has {min(numbers)} to {max(numbers)} reconstructions here"


def _table_1(found: Sequence[Row]) -> str:
    lines = []
    for row in sorted(found, key=lambda row: (row.bug.name not in RECON_1, row.label)):
        weights = [draw.recon.weights for draw in row.known if draw.recon.weights]
        ours = np.mean(weights, axis=0).tolist() if weights else [None] * len(FEATURES)
        program, *paper = RECON_1.get(row.bug.name, (None, None, None, None))
        lines.append((row.label, program, *paper, *ours))
    names = [f"{feature} ({who})" for who in ("paper", "ours") for feature in FEATURES]
    return markdown.table(("bug", "paper's program", *names), lines)


def _table_3(found: Sequence[Row]) -> str:
    head = ("bug", "rank (paper)", "as published", "rank", "strict")
    size = ("rel. + irr. (paper)", "shown", "whole")
    more = ("in order", "missing (paper)", "missing", "with 5 (paper)", "with 5")
    last = ("with 15 (paper)", "with 15", "collecting (paper)", "collecting")
    order = sorted(found, key=lambda row: (row.bug.name not in RECON_3, row.label))
    return markdown.table((*head, *size, *more, *last), map(_row_3, order))


def _row_3(row: Row) -> tuple[object, ...]:
    paper = RECON_3.get(row.bug.name)
    shown = _firsts(row, lambda draw: draw.recon.shown.get(ALL))
    whole = _firsts(row, lambda draw: draw.recon.whole)
    return (
        row.label,
        paper and paper.rank,
        _ranks(row, lambda draw: _rank(draw.recon.whole)),
        _ranks(row, lambda draw: _rank(draw.recon.shown.get(ALL))),
        _ranks(row, lambda draw: draw.recon.strict.get(ALL)),
        paper and f"{paper.relevant} + {paper.irrelevant}",
        _sizes(shown),
        _sizes(whole),
        f"{sum(one.ordered for one in shown)} of {len(shown)}",
        paper and paper.missing,
        _median([one.missing for one in shown]),
        paper and paper.with_5,
        _ranks(row, lambda draw: _rank(draw.recon.shown.get(5))),
        paper and paper.with_15,
        _ranks(row, lambda draw: _rank(draw.recon.shown.get(15))),
        (paper and paper.collecting) or None,
        row.seconds,
    )


def _firsts(row: Row, which: Callable[[CauseDraw], Reconstructed | None]) -> list[Reconstructed]:
    return [one for draw in row.known if (one := which(draw))]


def _ranks(row: Row, rank: Callable[[CauseDraw], int | None]) -> str:
    return markdown.ranks(rank(draw) if draw else None for draw in row.draws)


def _rank(one: Reconstructed | None) -> int | None:
    return one.rank if one else None


def _sizes(ones: Sequence[Reconstructed]) -> str | None:
    relevant = _median([one.relevant for one in ones])
    return relevant and f"{relevant} + {_median([one.irrelevant for one in ones])}"


def _median(values: Sequence[int]) -> str | None:
    return f"{statistics.median(values):g}" if values else None


def within(found: Sequence[Row], method: str, failing: int, top: int) -> tuple[int, int]:
    """Of how many draws the cause is in the first places, by the strict criterion."""
    draws = [draw for row in found for draw in row.draws]
    ranks = [_strict_rank(draw, method, failing) if draw else None for draw in draws]
    return sum(rank is not None and rank <= top for rank in ranks), len(ranks)


def _strict_rank(draw: CauseDraw, method: str, failing: int) -> int | None:
    if method == "recon":
        return draw.recon.strict.get(failing)
    return rank_of(draw.joined.get(failing))


def _by_number(found: Sequence[Row]) -> str:
    lines = [
        (method, failing, *(markdown.share(*within(found, method, failing, top)) for top in TOPS))
        for method in ("recon", "joined")
        for failing in (*FEW, ALL)
    ]
    head = ("method", "failing runs", *(f"top {top}" for top in TOPS))
    return markdown.table(head, lines)
