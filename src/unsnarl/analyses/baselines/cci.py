# SPDX-License-Identifier: Apache-2.0
"""CCI: does it matter that a cell was last touched by another thread, or by this one?

At every site two predicates are watched: the previous access of the cell was by this thread, or by
another one. A predicate is true in a run if it was so at least once. Predicates are scored by
the Importance of cooperative bug isolation: how much likelier a run fails if the predicate is true
than if its site is merely reached, balanced against the share of the failures that it covers.
Thakur, Sen, Liblit, Lu: Cooperative Crug Isolation, WODA 2009, as Falcon (4.6) describes it;
Liblit, Naik, Zheng, Aiken, Jordan: Scalable Statistical Bug Isolation, PLDI 2005, section 3.

Where we depart: nothing is sampled. The confidence interval of Increase is not asked for, since
25 runs are few. With a single failing run log F / log NumF is 0/0; a predicate that is true in it
covers all failures, so we take 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unsnarl.analyses.answer import Answer, Line
from unsnarl.analyses.bugaboo.communication import ENDS, communication, latest_edges
from unsnarl.analyses.bugaboo.graphs import Indexes, RankedGraph
from unsnarl.analyses.bugaboo.ranking import site_order
from unsnarl.model.evidence import Comparison, Evidence, PointTable

SINK_ANCHOR = 1
LOCAL, REMOTE = 0, 1

Runs = npt.NDArray[np.int64]
Figures = npt.NDArray[np.float64]


@dataclass(frozen=True)
class CciOptions:
    """What to report.

    Attributes:
        keep: So many predicates are returned, the best ones.
    """

    keep: int = 50


class Scores(NamedTuple):
    """CBI's figures (3.1 to 3.3) of predicates; the arrays are parallel."""

    failure: Figures
    context: Figures
    increase: Figures
    importance: Figures


class _Seen(NamedTuple):
    """How many runs reached each site, and in how many each predicate (local, remote) was true."""

    reached: Runs
    true: Runs


def answers(comparison: Comparison, options: CciOptions | None = None) -> list[Answer]:
    """Ranks the predicates that make failure likelier; the score is their Importance.

    An answer has one line, the access, and the feature `remote` says which predicate it is. Sites
    of which no point is known, since they never communicated, cannot be shown.
    """
    options = options or CciOptions()
    points = comparison.points
    failing, passing = (_seen(runs, points) for runs in (comparison.failing, comparison.passing))
    scores = importance(
        failing.true, passing.true, failing.reached, passing.reached, len(comparison.failing)
    )
    best = _best(scores, failing.true, site_order(points), len(points.order), options.keep)
    threads = _threads(comparison, np.array([site for _, site in best], dtype=np.intp))
    return [
        _answer(comparison, which, _features(scores, failing, passing, which), found)
        for which, found in zip(best, threads, strict=True)
    ]


def importance(
    failed: Runs, passed: Runs, reached_failing: Runs, reached_passing: Runs, failing: int
) -> Scores:
    """Failure, Context, Increase and Importance of predicates.

    Args:
        failed: F(P): failing runs in which the predicate was true.
        passed: S(P): passing runs in which it was true.
        reached_failing: F(P observed): failing runs that reached its site.
        reached_passing: S(P observed).
        failing: NumF.
    """
    failure = _share(failed, failed + passed)
    context = _share(reached_failing, reached_failing + reached_passing)
    increase = failure - context
    # A predicate that was never true in a failing run has no logarithm; it is dropped later anyway.
    covered = np.log(np.maximum(failed, 1)) / np.log(failing) if failing > 1 else failed * 1.0
    both = (increase > 0) & (covered > 0)
    harmonic = np.zeros(failed.shape)
    np.divide(2 * increase * covered, increase + covered, out=harmonic, where=both)
    return Scores(failure, np.broadcast_to(context, failure.shape), increase, harmonic)


def _best(
    scores: Scores, failed: Runs, order: Indexes, unknown: int, keep: int
) -> list[tuple[int, int]]:
    """Predicate and site, best first; sites whose rank in the order is `unknown` have no point."""
    suspicious = (scores.increase > 0) & (failed > 0) & (order < unknown)
    predicates, sites = np.nonzero(suspicious)
    worth = (scores.importance[suspicious], failed[suspicious])
    best = np.lexsort((-predicates, order[sites], -worth[1], -worth[0]))[:keep]
    return list(zip(predicates[best].tolist(), sites[best].tolist(), strict=True))


def _seen(runs: Sequence[Evidence], points: PointTable) -> _Seen:
    reached = np.zeros(len(points.function), dtype=np.int64)
    true = np.zeros((2, len(points.function)), dtype=np.int64)
    for run in runs:
        sites = run.counts["site"]
        reached[sites] += run.counts["executed"] > 0
        # A site may be reached both ways in one run: then both of its predicates are true.
        true[LOCAL, sites] += run.counts["executed"] > run.counts["remote"]
        true[REMOTE, sites] += run.counts["remote"] > 0
    return _Seen(reached, true)


def _share(part: Runs, whole: Runs) -> Figures:
    share = np.zeros(part.shape)
    np.divide(part, whole, out=share, where=whole > 0)
    return share


def _features(
    scores: Scores, failing: _Seen, passing: _Seen, which: tuple[int, int]
) -> dict[str, float]:
    figures = {name: float(getattr(scores, name)[which]) for name in Scores._fields}
    runs = {"failed": float(failing.true[which]), "passed": float(passing.true[which])}
    return figures | runs | {"remote": float(which[0] == REMOTE)}


def _answer(
    comparison: Comparison,
    which: tuple[int, int],
    features: dict[str, float],
    threads: dict[int, dict[int, int]],
) -> Answer:
    runs = [run for run, evidence in enumerate(comparison.failing) if _holds(evidence, which)]
    share_passed = features["passed"] / max(len(comparison.passing), 1)
    line = Line(
        point=_point(comparison.points, which[1]),
        region="sink",
        role=1,
        confidence=1.0,
        time=2.0,
        separation=len(runs) / len(comparison.failing) - share_passed,
        same_cell=1.0,
        anchor=SINK_ANCHOR,
    )
    return Answer(
        method="cci",
        score=features["importance"],
        features=features,
        lines=(line,),
        runs=tuple(runs),
        passing=int(features["passed"]),
        threads={run: threads.get(run, {}) for run in runs},
    )


def _holds(evidence: Evidence, which: tuple[int, int]) -> bool:
    predicate, site = which
    counts = evidence.counts
    at = int(np.searchsorted(counts["site"], site))
    if at == len(counts) or counts["site"][at] != site:
        return False
    executed, remote = int(counts["executed"][at]), int(counts["remote"][at])
    return remote > 0 if predicate == REMOTE else executed > remote


def _point(points: PointTable, site: int) -> int:
    """The first point of a site."""
    own = np.flatnonzero(points.site == site)
    return int(own[np.argmin(points.order[own])])


def _threads(comparison: Comparison, sites: Indexes) -> list[dict[int, dict[int, int]]]:
    """By site and failing run: the thread of its latest edge, where it has one.

    Counts have no threads. Edges into the site say more about it than those out of it.
    """
    unique, numbers = np.unique(sites, return_inverse=True)
    runs = enumerate(comparison.failing)
    ranked = [RankedGraph(run, run.graph.edges, slice(None), at) for at, run in runs]
    found: list[dict[int, dict[int, int]]] = [{} for _ in unique]
    for row in latest_edges(communication(ranked, comparison.points, unique)):
        thread = int(row[f"{ENDS[row['end']]}_thread"])
        found[row["number"]][int(row["graph"])] = {SINK_ANCHOR: thread}
    return [found[number] for number in numbers.tolist()]
