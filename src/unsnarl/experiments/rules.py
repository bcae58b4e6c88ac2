# SPDX-License-Identifier: Apache-2.0
"""Rules for the gate (native/gate/rules.c) that force an order of accesses, or forbid it.

The thread of the first line is whichever thread comes by: a rule is about roles, not about names.
What is told as 1-2-1 is an intrusion: forced, the first thread waits before its last access until
the other has done its own; forbidden, the others wait before theirs until the first thread is
through. What is told as 1-2 is an order: forced, everybody waits before the second access until the
first one has happened; forbidden, the other way round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unsnarl.experiments.scene import Points, Spot

Rule = dict[str, Any]


def forcing(spots: Sequence[Spot]) -> list[Rule]:
    """The rules under which the accesses come in the told order."""
    shape = _shape(spots)
    if shape is None:
        first, second = spots[0], spots[-1]
        return [_order(held=second, before=first)]
    begin, between, end = shape
    rule = _rule(begin.points, ("self", end.holds), ("others", between[-1].points))
    # Where all threads run the same code, two of them would wait for each other.
    return [{**rule, "once": True}]


def forbidding(spots: Sequence[Spot]) -> list[Rule]:
    """The rules under which they cannot.

    A second thread must not begin meanwhile, either: it would be in the first one's way.
    """
    shape = _shape(spots)
    if shape is None:
        first, second = spots[0], spots[-1]
        return [_order(held=first, before=second)]
    begin, between, end = shape
    held = tuple(sorted({*between[0].holds, *begin.holds}))
    rule = _rule(begin.points, ("others", held), ("self", end.points))
    if begin.code == end.code != (0, 0):
        rule["leave"] = list(begin.code)  # it may return without coming to the end
    return [rule]


def controlling(spots: Sequence[Spot], elsewhere: Points) -> list[Rule]:
    """Holds of the same length at points that have nothing to do with it."""
    shape = _shape(spots)
    if not elsewhere:
        return []
    begin, end = (shape[0], shape[2]) if shape else (spots[0], spots[-1])
    who = "self" if shape else "others"
    return [_rule(begin.points, ("others", elsewhere), (who, end.points))]


def _shape(spots: Sequence[Spot]) -> tuple[Spot, Sequence[Spot], Spot] | None:
    """The first line of a thread that comes back, what others do meanwhile, and its last line.

    None if no thread comes back: then it is an order of two accesses.
    """
    for at, begin in enumerate(spots):
        for end in range(len(spots) - 1, at + 1, -1):
            between = [spot for spot in spots[at + 1 : end] if spot.role != begin.role]
            if spots[end].role == begin.role and between:
                return begin, between, spots[end]
    return None


def _order(held: Spot, before: Spot) -> Rule:
    return {
        "when": None,
        "hold": {"who": "any", "points": list(held.holds), "path": None, "occurrence": 0},
        "until": {"who": "any", "points": list(before.points), "path": None, "occurrence": 0},
        "limit": 0,
    }


def _rule(when: Points, hold: tuple[str, Points], until: tuple[str, Points]) -> Rule:
    return {
        "when": {"points": list(when), "path": None, "occurrence": 0},
        "hold": {"who": hold[0], "points": list(hold[1]), "path": None, "occurrence": 0},
        "until": {"who": until[0], "points": list(until[1]), "path": None, "occurrence": 0},
        "limit": 0,
    }
