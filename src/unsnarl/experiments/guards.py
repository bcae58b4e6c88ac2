# SPDX-License-Identifier: Apache-2.0
"""The check that let several threads into a conflict, where all but one should have stayed out.

Threads that both make the workers of a pool get into each other's way there, but the mistake is
made before: both had found the pool not started. Such a check lies around the conflict: it is made
before it, and what the others should have seen is written after it. That it keeps threads out, and
was not only made at the same time, the forbidden arm shows: where the check cannot go wrong, only
one of the threads comes to the conflict at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from unsnarl.analyses.answer import Answer
from unsnarl.experiments.confirm import Experimenter
from unsnarl.experiments.rules import is_intrusion
from unsnarl.experiments.verdict import Verdict
from unsnarl.model.event import Op, site_of
from unsnarl.placement.line_points import LinePoints
from unsnarl.placement.occurrence import Occurrence, occurrences
from unsnarl.placement.timeline import Timeline
from unsnarl.runfile import RunFile

# So many checks around a conflict are tested, and so many failing runs are searched for one.
MOST_TESTED = 2
MOST_RUNS = 3
# Without the check's mistake, threads stay out in so many of the runs.
STAY_OUT = 0.9

Test = Callable[[Answer], Verdict | None]


class _Enclosing(NamedTuple):
    answer: Answer
    cells: int


class _Around(NamedTuple):
    """Answers that lie around a conflict in one run, where it is there, and the run."""

    run: RunFile
    inner: Occurrence
    answers: Sequence[Answer]


def guard_of(
    experimenter: Experimenter, conflict: Answer, answers: Sequence[Answer], test: Test
) -> tuple[Answer, Verdict] | None:
    """The answer about the check that let threads into a confirmed conflict, if that is confirmed.

    `answers` are those that were ranked; `test` gives the verdict on one of them.
    """
    around = _around(experimenter, conflict, answers)
    for answer in around.answers if around is not None else ():
        verdict = test(answer)
        if around is None or verdict is None or verdict.status != "confirmed":
            continue
        lines = experimenter.lines(around.run, conflict)
        if _keeps_out(experimenter, answer, lines, around.inner):
            return answer, verdict
    return None


def enclosing(
    experimenter: Experimenter, conflict: Answer, answers: Sequence[Answer]
) -> Sequence[Answer]:
    """Answers that lie around a conflict: a check before it, and what it should have seen after it.

    Where runs fail without the conflict, because there are others behind the same check, it is the
    check that all of them have in common.
    """
    around = _around(experimenter, conflict, answers)
    return around.answers if around is not None else ()


def _around(
    experimenter: Experimenter, conflict: Answer, answers: Sequence[Answer]
) -> _Around | None:
    for at in experimenter.simplest(conflict)[:MOST_RUNS]:
        run = experimenter.trace(at)
        inner = _first(run, experimenter.lines(run, conflict)) if run is not None else ()
        if run is None or not inner:
            continue
        others = [one for one in answers if at in one.runs and one.key != conflict.key]
        # What is about one variable says more than what is about two.
        found = sorted(_enclosing(experimenter, run, inner, others), key=lambda one: one.cells)
        if found:
            return _Around(run, inner, [one.answer for one in found[:MOST_TESTED]])
    return None


def _first(run: RunFile, lines: Sequence[LinePoints]) -> Occurrence:
    return next(iter(occurrences(Timeline.of(run), lines)), ())


def _enclosing(
    experimenter: Experimenter, run: RunFile, inner: Occurrence, answers: Sequence[Answer]
) -> Iterator[_Enclosing]:
    """Answers about a read before a conflict and a write after it, of the same threads."""
    paths = {event.path for event in inner}
    for answer in answers:
        lines = experimenter.lines(run, answer)
        if len({line.points for line in lines}) < 2 or not is_intrusion(lines):
            continue
        for outer in occurrences(Timeline.of(run), lines):
            same = {event.path for event in outer} == paths
            around = outer[0].at < inner[0].at and inner[-1].at < outer[-1].at
            if same and around and outer[0].op is Op.READ and outer[-1].op is Op.WRITE:
                yield _Enclosing(answer, len({event.cell for event in outer}))
                break


def _keeps_out(
    experimenter: Experimenter, guard: Answer, lines: Sequence[LinePoints], inner: Occurrence
) -> bool:
    """Whether one of the threads does not come to the conflict, where the check goes right."""
    paths = {event.path for event in inner}
    sites = {site_of(point) for line in lines for point in line.points}
    runs = [one.run for one in experimenter.forbidden(guard) if one.run is not None]
    alone = sum(len(_visitors(run, sites) & paths) < len(paths) for run in runs)
    return bool(runs) and alone >= STAY_OUT * len(runs)


def _visitors(run: RunFile, sites: set[int]) -> set[str]:
    """The threads that came to one of the sites."""
    rows = run.counts[np.isin(run.counts["site"], np.array(sorted(sites), dtype=np.uint32))]
    paths = {thread.index: thread.path for thread in run.threads}
    return {paths[index] for index in set(rows["thread"].tolist()) if index in paths}
