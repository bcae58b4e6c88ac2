# SPDX-License-Identifier: Apache-2.0
"""Threads that only looked: what they did changes nothing for anybody else.

A proof is about all threads that take part in it. Where its explanation is too long, one that only
read what another one read as well, and is not where it fails, is set-up.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from unsnarl.model.report import FindingPoint
from unsnarl.reports.patterns import FAIL, is_data, mode


def without_spectators(points: Sequence[FindingPoint]) -> list[FindingPoint]:
    """With all accesses of such threads as set-up; those who read the most stay."""
    shown = [point for point in points if not point.setup]
    looked = _looked_at(shown)
    folded: set[str] = set()
    for thread in sorted(looked, key=lambda one: len(looked[one])):
        others = [other for other in looked if other != thread and other not in folded]
        if any(looked[thread] <= looked[other] for other in others):
            folded.add(thread)
    return [replace(one, setup=True) if one.thread in folded else one for one in points]


def _looked_at(points: Sequence[FindingPoint]) -> dict[str, set[str]]:
    """By thread that only reads, and does not fail: what it reads."""
    found: dict[str, set[str]] = {}
    for thread in dict.fromkeys(point.thread for point in points):
        mine = [point for point in points if point.thread == thread]
        if all(is_data(one) and mode(one) == "R" and one.op != FAIL for one in mine):
            found[thread] = {one.variable for one in mine}
    return found
