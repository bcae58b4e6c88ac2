# SPDX-License-Identifier: Apache-2.0
"""Rules for the gate (native/gate/rules.c) under which a told order of accesses cannot happen.

The thread of the first line is whichever thread comes by: a rule is about roles, not about names.
What is told as 1-2-1 is an intrusion, and forbidden by exclusion; what is told as 1-2 is an order,
and forbidden by the other one. (Forcing needs occurrences of one run: constraints.py.)
"""

from __future__ import annotations

from collections.abc import Sequence

from unsnarl.experiments.constraints import Rule
from unsnarl.experiments.scene import Points, Spot
from unsnarl.model.site import Op

# A control may not keep anybody back for ever: it is there to show that holding is harmless.
CONTROL_LIMIT = 20
THREAD_ENDS = (int(Op.END),)  # at site 0


def forbidding(spots: Sequence[Spot], repeaters: Sequence[tuple[str, str]] = ()) -> list[Rule]:
    """The rules under which they cannot: both sides become critical sections of one lock.

    It is not enough to hold the others once the first thread has begun: one of them may be inside
    the section already that the first thread needs to go on.

    Args:
        spots: The accesses.
        repeaters: Threads, each with one that does the last access more than once: that comes too
            late as long as it has not ended.
    """
    shape = _shape(spots)
    if shape is None and repeaters and len({spot.role for spot in spots}) == len(spots) == 2:
        return [_ended(spots[0], *paths) for paths in repeaters]
    if shape is None:
        return [_forbidden_order(spots)]
    regions: dict[Points, Rule] = {}
    for begin, end in shape:
        regions.setdefault(begin.holds, _region(begin, end))
    return list(regions.values())


def controlling(spots: Sequence[Spot], elsewhere: Points) -> list[Rule]:
    """A hold at points that have nothing to do with it, from the start on.

    It comes before other rules: where nobody could go on, the oldest hold is given up first.
    """
    if not elsewhere:
        return []
    return [
        {
            "when": None,
            "hold": {"who": "any", **_match(elsewhere)},
            "until": {"who": "any", **_match(spots[-1].points)},
            "limit": CONTROL_LIMIT,
        }
    ]


def _region(begin: Spot, end: Spot) -> Rule:
    """From before the first access to the last; another thread's region keeps out meanwhile."""
    rule: Rule = {
        # A thread may come by again while it still holds the outer lock: then it enters here.
        "when": _match(tuple(sorted({*begin.holds, *begin.heads}))),
        "until": {"who": "self", **_match(end.ends or end.points)},
        "exclusive": 1,
        "limit": 0,
    }
    if begin.code == end.code != (0, 0):
        rule["leave"] = list(begin.code)  # it may return without coming to the end
    return rule


def _match(points: Points) -> Rule:
    return {"points": list(points), "path": None, "occurrence": 0}


def _shape(spots: Sequence[Spot]) -> list[tuple[Spot, Spot]] | None:
    """The first and the last line of a thread that comes back, and of those that came between.

    None if no thread comes back: then it is an order of two accesses.
    """
    threads: dict[int, list[int]] = {}
    for at, spot in enumerate(spots):
        threads.setdefault(spot.role, []).append(at)
    back = [role for role, mine in threads.items() if mine[-1] - mine[0] >= len(mine)]
    if not back:
        return None
    between = [
        spot.role
        for role in back
        for spot in spots[threads[role][0] : threads[role][-1]]
        if spot.role not in back
    ]
    order = dict.fromkeys([*back, *between])
    return [(spots[threads[role][0]], spots[threads[role][-1]]) for role in order]


def _forbidden_order(spots: Sequence[Spot]) -> Rule:
    """The other way round; of two accesses in a row (1-1-2, 1-2-2), the other's one in between."""
    roles = [spot.role for spot in spots]
    if roles == [1, 1, 2]:
        hold, until = spots[1], spots[2]
        return _rule(spots[0].points, ("self", hold.holds), ("others", until.points))
    if roles == [1, 2, 2]:
        return _rule(spots[1].points, ("self", spots[2].holds), ("others", spots[0].points))
    return _order(held=spots[0], before=spots[-1])


def _order(held: Spot, before: Spot) -> Rule:
    return {
        "when": None,
        "hold": {"who": "any", "points": list(held.holds), "path": None, "occurrence": 0},
        "until": {"who": "any", "points": list(before.points), "path": None, "occurrence": 0},
        "limit": 0,
    }


def _ended(held: Spot, waits: str, path: str) -> Rule:
    return {
        "when": None,
        "hold": {"who": "any", **_match(held.holds), "path": waits},
        "until": {"who": "any", **_match(THREAD_ENDS), "path": path},
        "limit": 0,
    }


def _rule(when: Points, hold: tuple[str, Points], until: tuple[str, Points]) -> Rule:
    return {
        "when": {"points": list(when), "path": None, "occurrence": 0},
        "hold": {"who": hold[0], "points": list(hold[1]), "path": None, "occurrence": 0},
        "until": {"who": until[0], "points": list(until[1]), "path": None, "occurrence": 0},
        "limit": 0,
    }
