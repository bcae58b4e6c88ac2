# SPDX-License-Identifier: Apache-2.0
"""What a long explanation can do without: it becomes set-up.

A proof is about all threads that take part in it. One that only read what another one read as well,
at the same time, and is not where it fails, changes nothing for anybody else. And who checks a
variable twice, with nobody in between, has decided by the second check.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence

from msgspec.structs import replace

from unsnarl.model.report import FindingPoint
from unsnarl.reports.calls import Text, is_too_long
from unsnarl.reports.patterns import FAIL, WAIT, is_data, mode, whole

CHECK = re.compile(r"(el)?if\b|while\b|assert\b")


def folded(
    points: Sequence[FindingPoint], ordered: Collection[int], text: Text
) -> list[FindingPoint]:
    """With as much set-up as it takes to be short; `ordered` are ids of points that must stay."""
    shown = list(points)
    if is_too_long(shown, text):
        shown = _without_first_looks(shown, ordered)
    return without_spectators(shown) if is_too_long(shown, text) else shown


def without_unrelated(points: Sequence[FindingPoint], about: Collection[str]) -> list[FindingPoint]:
    """Reads of what nobody else touches, and the finding is not about, are set-up.

    An order may say when a thread came to such a line, and be about what the thread did next.
    """
    data = [point for point in points if is_data(point) and not point.setup]
    times = Counter(whole(point.variable) for point in data)
    named = {whole(name) for name in about}
    apart = {
        id(point)
        for point in data
        if point.op == "read"
        and times[whole(point.variable)] == 1
        and whole(point.variable) not in named
    }
    left = [point for point in data if id(point) not in apart]
    if len({point.thread for point in left}) < 2:
        return list(points)  # they are all that there is to show
    return [replace(point, setup=True) if id(point) in apart else point for point in points]


def _without_first_looks(
    points: Sequence[FindingPoint], ordered: Collection[int]
) -> list[FindingPoint]:
    """Without checks that their thread repeats before anybody else has changed anything."""
    return [
        replace(point, setup=True)
        if id(point) not in ordered and _is_repeated(point, points[at + 1 :])
        else point
        for at, point in enumerate(points)
    ]


def _is_repeated(point: FindingPoint, later: Sequence[FindingPoint]) -> bool:
    if point.op != "read" or point.setup:
        return False
    for one in later:
        if one.thread == point.thread and one.variable == point.variable:
            return (one.op, one.value) == ("read", point.value) and bool(CHECK.match(one.text))
        if is_data(one) and mode(one) == "W":
            return False
    return False


def without_spectators(points: Sequence[FindingPoint]) -> list[FindingPoint]:
    """With all accesses of such threads as set-up; those who read the most stay."""
    shown = [point for point in points if not point.setup]
    looked = _looked_at(shown)
    folded: set[str] = set()
    for thread in sorted(looked, key=lambda one: len(looked[one])):
        others = [other for other in looked if other != thread and other not in folded]
        if any(_is_covered(looked[thread], looked[other]) for other in others):
            folded.add(thread)
    return [replace(one, setup=True) if one.thread in folded else one for one in points]


def _is_covered(mine: set[tuple[str, int]], its: set[tuple[str, int]]) -> bool:
    """Whether another one looked at all that a thread did: at the same times, or more often."""
    names = {name for name, _ in mine} <= {name for name, _ in its}
    return mine <= its or (names and len(mine) < len(its))


def _looked_at(points: Sequence[FindingPoint]) -> dict[str, set[tuple[str, int]]]:
    """By thread that only reads, and does not fail: what it reads, behind how many writes of it.

    Who reads before a write and behind it was in the middle of something; who reads once was not.
    """
    found: dict[str, set[tuple[str, int]]] = {}
    for thread in dict.fromkeys(point.thread for point in points):
        mine = [(at, one) for at, one in enumerate(points) if one.thread == thread]
        if all(is_data(one) and mode(one) == "R" and one.op != FAIL for _, one in mine):
            found[thread] = {(one.variable, _writes(points[:at], one.variable)) for at, one in mine}
    return found


def _writes(points: Sequence[FindingPoint], variable: str) -> int:
    return sum(is_data(one) and mode(one) == "W" and one.variable == variable for one in points)


def without_idle(points: Sequence[FindingPoint]) -> list[FindingPoint]:
    """Waits of pools' idle workers are set-up, where a thread waits on a line of the program."""
    if not any(point.op == WAIT and point.line for point in points):
        return list(points)
    return [replace(one, setup=True) if one.op == WAIT and not one.line else one for one in points]
