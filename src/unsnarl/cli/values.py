# SPDX-License-Identifier: Apache-2.0
"""Which of the values of a replay belong to the lines of a finding.

A point may be passed many times in one run. The line of a finding stands for one of these times:
the edge's two ends, or what lies nearest to them in the line's region.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from unsnarl.analyses.answer import Answer, Line
from unsnarl.reports.facts import Captured, FailingRun
from unsnarl.runfile import Interner, RunFile

Key = tuple[str, int]


class Moment(NamedTuple):
    """One access of a replay, in the order in which they happened."""

    path: str
    point: int
    captured: Captured


def raw_points(findings: Sequence[Answer], index: int, interner: Interner) -> list[int]:
    """What to capture: the points of the findings that run `index` has."""
    shown = {line.point for finding in findings if index in finding.runs for line in finding.lines}
    return sorted({raw for point in shown for raw in interner.raw_points(point)})


def moments(replay: RunFile, interner: Interner) -> list[Moment]:
    """The accesses with values that a replay noted: [index, point, path, value, locks, name]."""
    noted = replay.notes.values
    raw = np.array([value[1] for value in noted], dtype=np.uint32)
    points = interner.indexes(raw, replay).tolist() if len(raw) else []
    return [
        Moment(value[2], point, Captured(value[3], tuple(value[4])))
        for value, point in zip(noted, points, strict=True)
    ]


def assign(
    seen: Sequence[Moment], findings: Sequence[Answer], run: FailingRun, index: int
) -> dict[Key, Captured]:
    """Values for the findings that run `index` has; the best finding chooses first."""
    captured: dict[Key, Captured] = {}
    for finding in findings:
        if index in finding.runs:
            for key, value in _assign(seen, finding, _ends(finding, run, index)).items():
                captured.setdefault(key, value)
    return captured


def _ends(finding: Answer, run: FailingRun, index: int) -> tuple[Key, Key] | None:
    """Thread and point of the source and the sink in the run, if the finding has both."""
    paths = {thread.index: thread.path for thread in run.threads}
    threads = finding.threads.get(index, {})
    ends = [
        (paths[threads[line.anchor]], line.point)
        for region in ("source", "sink")
        for line in finding.lines
        if line.region == region and threads.get(line.anchor) in paths
    ]
    return (ends[0], ends[1]) if len(ends) == 2 else None


def _assign(
    seen: Sequence[Moment], finding: Answer, ends: tuple[Key, Key] | None
) -> dict[Key, Captured]:
    if ends is None:
        return {}
    keys = [(moment.path, moment.point) for moment in seen]
    first, last = _occurrence(keys, *ends)
    chosen = {}
    for line in finding.lines:
        path = ends[line.anchor][0] if line.anchor < 2 else None
        at = _nearest(keys, line, path, first, last)
        if at is not None:
            chosen[keys[at]] = seen[at].captured
    return chosen


def _occurrence(keys: Sequence[Key], source: Key, sink: Key) -> tuple[int, int]:
    """Where the edge's ends lie: the last sink that has a source before it."""
    for last in range(len(keys) - 1, -1, -1):
        if keys[last] == sink:
            before = [at for at in range(last) if keys[at] == source]
            if before:
                return before[-1], last
    return len(keys), len(keys)


def _nearest(
    keys: Sequence[Key], line: Line, path: str | None, first: int, last: int
) -> int | None:
    found = [at for at, key in enumerate(keys) if key[1] == line.point and path in (None, key[0])]
    if line.region in ("source", "prefix"):
        found = [at for at in found if at < first or (at == first and line.region == "source")]
        return found[-1] if found else None
    if line.region == "suffix":
        return next((at for at in found if at > last), None)
    found = [at for at in found if first < at < last or (at == last and line.region == "sink")]
    return found[-1] if found else None
