# SPDX-License-Identifier: Apache-2.0
"""Bugaboo's tables 2 and 4 and its figure 7, redone: measured on one case, shown for all."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Iterable, Sequence

from evaluation import markdown
from evaluation.cases import Case
from evaluation.draws import sample
from evaluation.inspections import inspections
from evaluation.papers import BUGABOO_2, BUGABOO_4
from evaluation.results import BugabooDraw, CauseDraw, Inspected, ObjectDraw, Row
from unsnarl.analyses.bugaboo import BugabooOptions, ranking
from unsnarl.model.evidence import Comparison, Evidence
from unsnarl.model.graph import context_mask

SIZES = (0, 1, 2, 3, 4, 5)
DEFAULT = 5
UNLABELLED_RUNS = 25  # a trial without labels (6.2)
CONVERGING = ("binlog", "apachelog", "pbzip2")  # the programs of figure 7

SHOWN = (2, 5, 10, 15, 20, 25)  # runs of figure 7 in numbers
HEAD_2 = (
    "bug",
    "paper's program",
    "without context (paper)",
    "without context",
    "labelled (paper)",
    "labelled",
    "unlabelled (paper)",
    "unlabelled",
    "labelled, object",
    "unlabelled, object",
)

Edge = tuple[int, int, int, int]


def measure(case: Case) -> BugabooDraw:
    """All figures of Bugaboo on one case."""
    trial = unlabelled_trial(case)
    runs = [*trial.failing, *trial.passing]
    return BugabooDraw(
        labelled={size: _inspected(case, case.comparison, True, size) for size in SIZES},
        unlabelled={size: _inspected(case, trial, False, size) for size in (0, DEFAULT)},
        failing_of_unlabelled=len(trial.failing),
        code_points=len(ranking(case.comparison, BugabooOptions(labelled=False))),
        added=_convergence(runs, case) if case.bug.name in CONVERGING else {},
    )


def of_trial(case: Case) -> tuple[Inspected | None, Inspected | None]:
    """Labelled and unlabelled inspections with the default size of contexts."""
    labelled = _inspected(case, case.comparison, True, DEFAULT)
    return labelled, _inspected(case, unlabelled_trial(case), False, DEFAULT)


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
        whole.points,
    )


def _inspected(case: Case, runs: Comparison, labelled: bool, size: int) -> Inspected | None:
    ranked = ranking(runs, BugabooOptions(labelled=labelled, context_size=size))
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
    mask = context_mask(size)
    rows = run.graph.edges
    columns = (
        rows["source_point"],
        rows["source_context"] & mask,
        rows["sink_point"],
        rows["sink_context"] & mask,
    )
    return set(zip(*(column.tolist() for column in columns), strict=True))


def section(found: Sequence[Row], objects: Sequence[ObjectDraw], figures: dict[str, str]) -> str:
    """The page's part on Bugaboo."""
    return markdown.sections(
        "## Bugaboo's tables (MICRO 2009)",
        "### Table 2: inspections until the bug is found",
        "Code points (functions in brackets), means over the draws, and in how many of them if not "
        "in all. The paper's columns are those of BB-SW with words. A trial without labels has 25 "
        "runs, of which as many fail as in the hunt, at least one. *object* tracks whole objects "
        "instead of attributes and elements, in hunts of its own (fewer draws, only the paper's "
        "programs), where the paper tracks whole "
        "cache lines and sees little difference (6.2.2). Its BB-HW, with tables 3 and 5, is in "
        "docs/hardware.md. What differs: " + _setting(found),
        _table_2(found, objects),
        _detected(found),
        "### Table 4: the size of contexts",
        "Labelled inspections in code points by the number of events in a context; a dash where no "
        "draw finds the bug. The paper's figures stand in brackets.",
        _table_4(found),
        "### Figure 7: convergence",
        "Edges that each further run adds, in percent of those known before it, mean over the "
        "draws, by size of contexts. The paper shows MySQL, Apache and PBZip2, flat from 10 to 15 "
        "runs on.",
        figures.get("bugaboo-convergence", ""),
        _table_7(found),
    )


def _setting(found: Sequence[Row]) -> str:
    """How our runs differ from the paper's, in numbers."""
    draws = [draw for row in found for draw in row.known]
    if not draws:
        return "nothing failed."
    points = [draw.bugaboo.code_points for draw in draws]
    rate = statistics.median(draw.rate for draw in draws)
    return (
        f"{min(points)} to {max(points)} code points communicate in a kernel, so there is less to "
        "look through than in the paper's full programs; and the bug strikes in "
        f"{rate:.0%} of the hunted runs (median), so that without labels its contexts are not "
        "rare, which is what that method lives on."
    )


def _table_2(found: Sequence[Row], objects: Sequence[ObjectDraw]) -> str:
    lines = []
    for row in sorted(found, key=lambda row: (row.bug.name not in BUGABOO_2, row.label)):
        paper = BUGABOO_2.get(row.bug.name)
        coarse = [one for one in objects if one.bug == row.bug.name]
        lines.append(
            (
                row.label,
                paper and paper.program,
                paper and paper.without,
                _found(_labelled(row, 0)),
                paper and _pair(paper.labelled),
                _inspections(_labelled(row, DEFAULT)),
                paper and _pair(paper.unlabelled),
                _inspections(_unlabelled(row, DEFAULT)),
                _inspections([one.labelled for one in coarse]) if coarse else None,
                _inspections([one.unlabelled for one in coarse]) if coarse else None,
            )
        )
    return markdown.table(HEAD_2, lines)


def _labelled(row: Row, size: int) -> list[Inspected | None]:
    return _each(row, lambda draw: draw.bugaboo.labelled.get(size))


def _unlabelled(row: Row, size: int) -> list[Inspected | None]:
    return _each(row, lambda draw: draw.bugaboo.unlabelled.get(size))


def _each(row: Row, which: Callable[[CauseDraw], Inspected | None]) -> list[Inspected | None]:
    return [which(draw) if draw else None for draw in row.draws]


def _found(ones: Sequence[Inspected | None]) -> str:
    return f"{sum(one is not None for one in ones)} of {len(ones)}"


def _pair(values: tuple[float, float]) -> str:
    return f"{values[0]:.1f} ({values[1]:.1f})"


def _inspections(ones: Sequence[Inspected | None]) -> str:
    known = [one for one in ones if one]
    if not known:
        return markdown.NONE
    points = sum(one.points for one in known) / len(known)
    functions = sum(one.functions for one in known) / len(known)
    partly = "" if len(known) == len(ones) else f" in {len(known)} of {len(ones)}"
    return _pair((points, functions)) + partly


def _detected(found: Sequence[Row]) -> str:
    """How much contexts are worth: how many bugs are found with and without them."""
    lines = []
    for size in (0, DEFAULT):
        for name, which in (("labelled", _labelled), ("unlabelled", _unlabelled)):
            every = [one for row in found for one in which(row, size)]
            points = [one.points if one else None for one in every]
            known = sum(one is not None for one in every)
            near = sum(point is not None and point <= 3 for point in points)
            total = len(every)
            shares = (markdown.share(known, total), markdown.share(near, total))
            lines.append((size, name, *shares, markdown.mean(points)))
    head = ("context", "runs", "found at all", "within 3 inspections", "mean inspections if found")
    return markdown.table(head, lines)


def _table_4(found: Sequence[Row]) -> str:
    lines = []
    for row in sorted(found, key=lambda row: (row.bug.name not in BUGABOO_4, row.label)):
        paper = BUGABOO_4.get(row.bug.name)
        cells = []
        for size in SIZES:
            points = [one.points if one else None for one in _labelled(row, size)]
            theirs = f" [{_one(paper[size])}]" if paper else ""
            cells.append(markdown.mean(points) + theirs)
        lines.append((row.label, *cells))
    return markdown.table(
        ("bug", *(f"{size} event{'s' if size != 1 else ''}" for size in SIZES)), lines
    )


def _one(value: float | None) -> str:
    return markdown.NONE if value is None else f"{value:.1f}"


def converged(row: Row, size: int) -> list[float]:
    """By further run: the mean share of new edges over the draws that have so many runs."""
    series = [draw.bugaboo.added.get(size, ()) for draw in row.known]
    longest = max(map(len, series), default=0)
    by_run = [[one[at] for one in series if at < len(one)] for at in range(longest)]
    return [sum(values) / len(values) for values in by_run]


def _table_7(found: Sequence[Row]) -> str:
    lines = []
    for row in found:
        for size in (0, 2, DEFAULT) if row.bug.name in CONVERGING else ():
            shares = converged(row, size)
            shown = [f"{shares[at - 2]:.1f} %" if at - 2 < len(shares) else None for at in SHOWN]
            lines.append((row.label, size, *shown))
    return markdown.table(("bug", "context", *(f"run {at}" for at in SHOWN)), lines)
