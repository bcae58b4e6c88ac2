# SPDX-License-Identifier: Apache-2.0
"""Accesses that are made more than once: which of them came too late is not said by their line."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unsnarl.execution.trials import Trial
from unsnarl.model.event import site_of
from unsnarl.placement.line_points import LinePoints
from unsnarl.placement.occurrence import latest_occurrence
from unsnarl.placement.timeline import Timeline


def is_repeated(line: LinePoints, trial: Trial) -> bool:
    """Whether a thread of a trial came to a line more than once."""
    if trial.run is None:
        return False
    counts = trial.run.counts
    sites = np.array([site_of(point) for point in line.points], dtype=np.uint32)
    return bool(np.any(counts[np.isin(counts["site"], sites)]["count"] > 1))


def repeaters(
    timeline: Timeline, lines: Sequence[LinePoints], often: bool = False
) -> list[tuple[str, str]]:
    """The threads of the first access, each with one of the last, if that is done repeatedly.

    That is: if one had done it before when it came too late; with `often`, if one does it more than
    once at all.
    """
    occurrence = latest_occurrence(timeline, lines)
    if len(occurrence) < len(lines):
        return []
    theirs = [
        event
        for event in timeline.events
        if event.point in lines[-1].points and event.path != occurrence[0].path
    ]
    if not (len(theirs) > 1 if often else theirs[:1] < occurrence[-1:]):
        return []
    ours = {event.path for event in timeline.events if event.point in lines[0].points}
    last = {event.path for event in theirs}
    # Where threads do both, they would wait for each other's end.
    ours = {occurrence[0].path} if ours & last else ours
    return sorted((one, other) for one in ours for other in last)
