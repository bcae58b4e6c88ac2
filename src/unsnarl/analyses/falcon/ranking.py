# SPDX-License-Identifier: Apache-2.0
"""The ranking of patterns (Falcon 3.2), and patterns as answers, which AVIO makes as well."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from unsnarl.analyses.answer import Answer, Line
from unsnarl.analyses.falcon.scores import Formula, Scores, suspiciousness
from unsnarl.analyses.falcon.table import Counting, Indexes, Table, table, top
from unsnarl.analyses.recon.keys import Keys
from unsnarl.model.evidence import Comparison, Evidence
from unsnarl.model.pattern import FINE, PatternKind, Patterns, kinds_of
from unsnarl.model.report import Region

SOURCE_ANCHOR, SINK_ANCHOR = 0, 1
# By kind: whether the thread that began is also the one at the sink.
_FIRST_IS_SINK = np.zeros(FINE, dtype=bool)
_FIRST_IS_SINK[[kind for kind in PatternKind if kind.roles[-1] == 1]] = True

Threads = dict[int, dict[int, int]]  # by run, then by anchor


@dataclass(frozen=True)
class FalconOptions:
    """How to rank; the defaults are the paper's.

    Attributes:
        formula: What makes a pattern suspicious.
        fine: Whether to rank patterns too that the paper's windows merge away.
        keep: So many patterns are returned, the best ones.
    """

    formula: Formula = "jaccard"
    fine: bool = False
    keep: int = 50


class Scored(NamedTuple):
    """A row of a table with what its answer says besides its lines."""

    row: int
    score: float
    features: Mapping[str, float]


def answers(comparison: Comparison, options: FalconOptions | None = None) -> list[Answer]:
    """Ranks the patterns of failing runs, most suspicious first."""
    options = options or FalconOptions()
    counted = table(comparison, Counting(fine=options.fine))
    totals = (counted.failing, counted.passing)

    def doubt(rows: Indexes) -> Scores:
        failed, passed = counted.failed[rows], counted.passed[rows]
        return -suspiciousness(failed, passed, *totals, options.formula)

    in_order = [doubt, lambda rows: -counted.failed[rows]]
    in_order += counted.in_site_order(comparison.points.order)
    best = top(np.flatnonzero(counted.failed), in_order, options.keep)
    scored = [
        Scored(row, -score, _features(counted, row) | {"suspiciousness": -score})
        for row, score in zip(best.tolist(), doubt(best).tolist(), strict=True)
    ]
    return to_answers("falcon", comparison, counted, scored)


def to_answers(
    method: str, comparison: Comparison, counted: Table, scored: Sequence[Scored]
) -> list[Answer]:
    """Patterns as answers, in the given order: each with the runs and threads that have it."""
    rows = np.array([one.row for one in scored], dtype=np.intp)
    threads = _threads(comparison.failing, counted, counted.keys[rows])
    identities = zip(*(column.tolist() for column in counted.identity(rows)), strict=True)
    found = []
    for one, (kind, *points) in zip(scored, identities, strict=True):
        by_run = threads[int(counted.keys[one.row])]
        answer = Answer(
            method=method,
            score=one.score,
            features=one.features,
            lines=_lines(PatternKind(kind), points, _separation(counted, one.row)),
            runs=tuple(by_run),
            passing=int(counted.passed[one.row]),
            threads=by_run,
        )
        found.append(answer)
    return found


def _features(counted: Table, row: int) -> dict[str, float]:
    return {"failed": float(counted.failed[row]), "passed": float(counted.passed[row])}


def _separation(counted: Table, row: int) -> float:
    failed = counted.failed[row] / max(counted.failing, 1)
    return float(failed - counted.passed[row] / max(counted.passing, 1))


def _lines(kind: PatternKind, points: Sequence[int], separation: float) -> tuple[Line, ...]:
    """The sink is the last access, the source the last one before it by the other thread."""
    sink = len(kind.roles) - 1
    source = max(at for at, role in enumerate(kind.roles) if role != kind.roles[sink])
    regions: dict[int, Region] = {source: "source", sink: "sink"}
    return tuple(
        Line(
            point=point,
            region=regions.get(at, "prefix" if at < source else "body"),
            role=role,
            confidence=1.0,
            time=float(at),
            separation=separation,
            same_cell=1.0,
            anchor=SINK_ANCHOR if role == kind.roles[sink] else SOURCE_ANCHOR,
        )
        for at, (role, point) in enumerate(zip(kind.roles, points, strict=False))
    )


def _threads(failing: Sequence[Evidence], counted: Table, wanted: Keys) -> dict[int, Threads]:
    """By pattern: the threads of its latest occurrence in every failing run that has it."""
    found: dict[int, Threads] = defaultdict(dict)
    wanted = np.sort(wanted)
    for run, evidence in enumerate(failing):
        keys, patterns = counted.occurrences(evidence, wanted)
        # Later occurrences overwrite earlier ones below.
        oldest_first = np.argsort(patterns["other_time"], kind="stable")
        ends = zip(*_ends(patterns[oldest_first]), strict=True)
        for key, (source, sink) in zip(keys[oldest_first].tolist(), ends, strict=True):
            found[key][run] = {SOURCE_ANCHOR: source, SINK_ANCHOR: sink}
    return found


def _ends(patterns: Patterns) -> tuple[list[int], list[int]]:
    """The threads of sources and of sinks."""
    sink_first = _FIRST_IS_SINK[kinds_of(patterns)]
    first, other = patterns["first_thread"], patterns["other_thread"]
    return np.where(sink_first, other, first).tolist(), np.where(sink_first, first, other).tolist()
