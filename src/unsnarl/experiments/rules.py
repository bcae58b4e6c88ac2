# SPDX-License-Identifier: Apache-2.0
"""Rules for the gate (native/gate/rules.c) under which an answer's order of events cannot happen.

The thread of the first line is whichever thread comes by: a rule is about roles, not about names.
Lines of the threads 1-2-1 are an intrusion, which exclusion forbids; 1-2 is an order, which the
opposite order forbids. (Forcing needs the events of one run: placement/occurrence.py.)
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from msgspec.structs import replace

from unsnarl.model.constraint import match_event
from unsnarl.model.event import Event, Op
from unsnarl.model.plan import Match, Rule
from unsnarl.placement.line_points import LinePoints, Points

MOST_RULES = 64  # that the gate takes (UNS_RULES_MOST)
# A control may not keep anybody back for ever: it is there to show that holding is harmless.
CONTROL_LIMIT = 20
THREAD_ENDS = (int(Op.END),)  # at site 0
# Of a plan. Of so many equal threads each can be made to wait for each other one.
MOST_RULES = 64
MOST_EQUALS = 8


def forbidding(
    lines: Sequence[LinePoints],
    repeaters: Sequence[tuple[str, str]] = (),
    equals: Sequence[str] = (),
    *,
    lasts: bool = False,
    briefly: bool = False,
) -> list[Rule]:
    """The rules under which they cannot: both sides become critical sections of one lock.

    It is not enough to hold the others once the first thread has begun: one of them may be inside
    the section already that the first thread needs to go on.

    Args:
        lines: The accesses.
        repeaters: Threads, each with one that does the last access more than once: that comes too
            late as long as it has not ended.
        equals: Equal threads, if it is an order of two of them: each does both accesses, so that
            one's own would be taken for the other's.
        lasts: Whether a thread that comes back keeps the others out until it has ended: where it
            does the last access again and again, what came too late may be a later one.
        briefly: Whether who comes in between is kept out of its last access only: where it waits
            before that for the thread that comes back, it would keep that one out for ever.
    """
    shape = _shape(lines)
    # An access that came in time once may still be too late the next time (docs/adr/0016).
    if shape is None and repeaters and len({line.role for line in lines}) == len(lines) == 2:
        return [_ended(lines[0], *paths) for paths in repeaters]
    if shape is None and len(lines) == 2 and 1 < len(equals) <= MOST_EQUALS:
        return [_for_each(lines, *paths) for paths in permutations(equals, 2)]
    if shape is None:
        return [_forbidden_order(lines)]
    regions: dict[Points, Rule] = {}
    back = returning(lines)
    for begin, end in shape:
        region = _region(end if briefly and begin.role not in back else begin, end)
        if lasts and begin.role in back:
            region = replace(region, until=Match(THREAD_ENDS, who="self"), leave=None)
        regions.setdefault(begin.holds, region)
    return list(regions.values())


def with_others(rules: Sequence[Rule], others: Sequence[Sequence[LinePoints]]) -> list[Rule]:
    """The regions of an intrusion, and those of other accesses that must not come in, either."""
    found = {rule.when: rule for rule in rules}
    for lines in others:
        for rule in forbidding(lines):
            found.setdefault(rule.when, rule)
    return list(found.values())


def holding(lines: Sequence[LinePoints], early: str) -> list[Rule]:
    """The opposite of an order of two accesses, for the one thread that came too early.

    Where a thread can be held only long before its access, the other one may come by there, too,
    on its way to what the first is to wait for.
    """
    if not is_order(lines):
        return []
    held, before = lines
    return [Rule(hold=Match(held.holds, path=early), until=Match(before.points, who="others"))]


def is_intrusion(lines: Sequence[LinePoints]) -> bool:
    """Whether a thread comes back after another one's access."""
    return bool(returning(lines))


def is_order(lines: Sequence[LinePoints]) -> bool:
    """Whether it is one access of each of two threads."""
    return [line.role for line in lines] in ([1, 2], [2, 1])


def going_last(hold: Event, events: Sequence[Event]) -> list[Rule]:
    """Holds a thread there until the others have gone as far as they can.

    They end, or nobody can go on and the rule gives way: then they wait for something that only the
    held thread does, and wait for it without keeping it from going on.
    """
    others = dict.fromkeys(event.path for event in events if event.path != hold.path)
    return [Rule(hold=match_event(hold), until=Match(THREAD_ENDS, path=path)) for path in others]


def apart(groups: Sequence[Sequence[Rule]], first: int = 1) -> list[Rule]:
    """The rules of several answers together, the regions of each with a lock of its own.

    Their locks are numbered from `first` on.
    """
    return [
        rule if rule.exclusive is None else replace(rule, exclusive=number)
        for number, rules in enumerate(groups, start=first)
        for rule in rules
    ]


def controlling(lines: Sequence[LinePoints], elsewhere: Points) -> list[Rule]:
    """A hold at points that have nothing to do with it, from the start on.

    It comes before other rules: where nobody could go on, the oldest hold is given up first.
    """
    if not elsewhere:
        return []
    return [Rule(hold=Match(elsewhere), until=Match(lines[-1].points), limit=CONTROL_LIMIT)]


def _region(begin: LinePoints, end: LinePoints) -> Rule:
    """From before the first access to the last; another thread's region keeps out meanwhile."""
    return Rule(
        # A thread may come by again while it still holds the outer lock: then it enters here.
        when=Match(tuple(sorted({*begin.holds, *begin.heads}))),
        until=Match(end.ends or end.points, who="self"),
        exclusive=1,
        # It may return without coming to the end.
        leave=begin.code if begin.code == end.code != (0, 0) else None,
    )


def _shape(lines: Sequence[LinePoints]) -> list[tuple[LinePoints, LinePoints]] | None:
    """The first and the last line of a thread that comes back, and of those that came between.

    None if no thread comes back: then it is an order of two accesses.
    """
    threads, back = _by_role(lines), returning(lines)
    if not back:
        return None
    between = [
        line.role
        for role in back
        for line in lines[threads[role][0] : threads[role][-1]]
        if line.role not in back
    ]
    order = dict.fromkeys([*back, *between])
    return [(lines[threads[role][0]], lines[threads[role][-1]]) for role in order]


def returning(lines: Sequence[LinePoints]) -> list[int]:
    """The roles that come back after a line of another one."""
    # Indexes further apart than their number leave room for a line of another role.
    return [role for role, own in _by_role(lines).items() if own[-1] - own[0] >= len(own)]


def _by_role(lines: Sequence[LinePoints]) -> dict[int, list[int]]:
    """By role: the indexes of its lines."""
    found: dict[int, list[int]] = {}
    for at, line in enumerate(lines):
        found.setdefault(line.role, []).append(at)
    return found


def _forbidden_order(lines: Sequence[LinePoints]) -> Rule:
    """The other way round; of two accesses in a row (1-1-2, 1-2-2), the other's one in between."""
    roles = [line.role for line in lines]
    if roles == [1, 1, 2]:
        return _between(when=lines[0], held=lines[1], until=lines[2])
    if roles == [1, 2, 2]:
        return _between(when=lines[1], held=lines[2], until=lines[0])
    return _order(held=lines[0], before=lines[-1])


def _between(when: LinePoints, held: LinePoints, until: LinePoints) -> Rule:
    return Rule(
        when=Match(when.points),
        hold=Match(held.holds, who="self"),
        until=Match(until.points, who="others"),
    )


def _order(held: LinePoints, before: LinePoints) -> Rule:
    return Rule(hold=Match(held.holds), until=Match(before.points))


def _for_each(lines: Sequence[LinePoints], waits: str, path: str) -> Rule:
    held, before = lines
    return Rule(hold=Match(held.holds, path=waits), until=Match(before.points, path=path))


def _ended(held: LinePoints, waits: str, path: str) -> Rule:
    return Rule(hold=Match(held.holds, path=waits), until=Match(THREAD_ENDS, path=path))
