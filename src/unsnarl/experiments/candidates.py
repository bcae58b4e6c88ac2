# SPDX-License-Identifier: Apache-2.0
"""What might repair a program, from small to large, as rules for the gate.

A region is entered at the outermost acquire around its first access, or at the access itself where
its lock can be the innermost one. It ends with the line of its last access, or with the lines or
the function that have both, whichever way they are left. An order holds whoever comes too early.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, NamedTuple

from unsnarl.experiments.rules import THREAD_ENDS
from unsnarl.model.event import Op, with_op
from unsnarl.model.plan import Match, Rule
from unsnarl.placement.code_context import Span
from unsnarl.placement.line_points import NOWHERE, CodeRange, LinePoints, Points
from unsnarl.placement.occurrence import PlacedLine, Placement

Reach = Literal["line", "block", "single", "function"]
Scope = Literal["", "once", "each", "turns", "ended"]  # of an order (model/report.py, Fix)
MOST_ACCESSES = 50  # the gate takes 64 rules


@dataclass(frozen=True)
class Candidate:
    """A fix to be tried."""

    kind: Literal["region", "order"]
    name: str
    begin: LinePoints
    end: LinePoints
    rules: tuple[Rule, ...]
    lock: int | None = None
    acquires: Points = ()
    span: Span | None = None
    others: tuple[tuple[LinePoints, LinePoints], ...] = ()
    scope: Scope = ""
    forcing: tuple[Rule, ...] = ()


class Region(NamedTuple):
    """Where one role must not be disturbed."""

    begin: LinePoints
    end: LinePoints
    until: Points
    leave: CodeRange
    span: Span | None

    def overlaps(self, other: Region) -> bool:
        """Whether both have a line of one function."""
        if self.span is None or other.span is None or self.span[:3] != other.span[:3]:
            return False
        return self.span.first <= other.span.last and other.span.first <= self.span.last

    @property
    def is_point(self) -> bool:
        """Whether it is one access, before which a thread comes to the gate: atomic as it is."""
        return set(self.end.points) <= set(self.begin.holds)

    def rule(self, acquires: Points, kept_out: Points) -> Rule:
        """The rule of the gate; with acquires it is as if their lock were held.

        Others are also kept from single accesses.
        """
        held = tuple(sorted({*acquires, *kept_out}))
        return Rule(
            when=Match(self.begin.holds),
            hold=Match(held, who="others") if held else None,
            until=Match(self.until, who="self") if self.until else None,
            exclusive=0,
            guards=acquires,
            leave=self.leave if self.leave != NOWHERE else None,
        )


def candidates(placement: Placement, windows: Points = ()) -> Iterator[Candidate]:
    """All that is worth a try, without repetitions.

    `windows` are other accesses that do the same harm in other runs (windows.py): whatever region
    is tried keeps them out, too.
    """
    tried = []
    for candidate in _all(placement, windows):
        # Several shapes may come to the same rules, and each would cost all its trials again.
        if candidate.rules not in tried:
            tried.append(candidate.rules)
            yield replace(candidate, forcing=placement.forcing)


def _all(placement: Placement, windows: Points) -> Iterator[Candidate]:
    if placement.is_blocked:
        # Who waits with a lock in its hands has to wait without it: no region and no order is that.
        return
    if placement.cycle:
        yield from _of_cycle(placement)
    if len({line.role for line in placement.lines}) < 2:
        return
    # Where no thread comes back, nothing has to be kept together: orders first (docs/adr/0015).
    if placement.returning is None:
        yield from _orders(placement)
    yield from _regions(placement, windows)
    if placement.returning is not None:
        yield from _orders(placement)


# Deadlocks.


def _of_cycle(placement: Placement) -> Iterator[Candidate]:
    """From the first lock of the cycle to the second one, nobody else."""
    taken = {wait.owner: wait.taken for wait in placement.cycle}
    ends = {(taken[wait.thread], with_op(wait.point, Op.ACQUIRE)) for wait in placement.cycle}
    first = tuple(sorted({begin for begin, _ in ends}))
    second = tuple(sorted({end for _, end in ends}))
    code = placement.context.code(first[0])
    same = {placement.context.code(point) for point in (*first, *second)} == {code}
    pairs = [(_at(placement, begin), _at(placement, end)) for begin, end in sorted(ends)]
    whole = Region(
        LinePoints(first, first, 1, code), pairs[0][1], second, code if same else NOWHERE, None
    )
    rules = (whole.rule((), ()),)
    yield Candidate("region", "locks", *pairs[0], rules, others=tuple(pairs[1:]))


def _at(placement: Placement, point: int) -> LinePoints:
    return LinePoints((point,), (point,), 1, placement.context.code(point))


# Regions.

# Small before large: the first that survives is reported (docs/adr/0015).
# How far the region of the role that comes back reaches, and those of the others.
REACHES: tuple[tuple[Reach, Reach], ...] = (
    ("line", "line"),
    ("block", "line"),
    ("block", "block"),
    ("line", "single"),
    ("block", "single"),
    ("function", "line"),
    ("function", "function"),
)


def _regions(placement: Placement, windows: Points) -> Iterator[Candidate]:
    for accesses in (False, True):
        points = _other_accesses(placement) if accesses else windows
        for mine, others in REACHES:
            for lifted in (False, True):
                name = f"{mine}/{others}{' lifted' if lifted else ''}{' all' if accesses else ''}"
                kept_out = list(_accesses(placement, points, lifted))
                yield from _region(placement, name, (mine, others), lifted, kept_out)


def _region(
    placement: Placement,
    name: str,
    reaches: tuple[Reach, Reach],
    lifted: bool,
    kept_out: Sequence[Region],
) -> Iterator[Candidate]:
    """One shape: with the program's own lock if there is one, and with a new one."""
    back, *rest = placement.roles
    mine, others = reaches
    first = _of_role(placement, placement.of(back), mine, lifted)
    if first is None:
        return
    # A lock that the others hold already comes before a new one (docs/adr/0015).
    for lock in dict.fromkeys((placement.lock, None)):
        acquires = placement.context.acquires(lock) if lock is not None else ()
        free = [role for role in rest if not _is_under(placement, role, lock)]
        more = [
            _of_role(placement, lines, others, lifted) for lines in _groups(placement, free, others)
        ]
        whole, kept = _merged(placement, first, [region for region in more if region is not None])
        kept += kept_out
        yield Candidate(
            "region",
            name + (" lock" if lock is not None else ""),
            whole.begin,
            whole.end,
            tuple(_rules(whole, kept, acquires)),
            lock,
            acquires,
            whole.span,
            tuple((region.begin, region.end) for region in kept),
        )


def _rules(whole: Region, kept: Sequence[Region], acquires: Points) -> Iterator[Rule]:
    points = tuple(hold for one in kept if one.is_point for hold in one.begin.holds)
    for region in (whole, *kept):
        if region is whole or not region.is_point:
            yield region.rule(acquires, points)


def _groups(placement: Placement, roles: Iterable[int], reach: Reach) -> Iterator[list[PlacedLine]]:
    """What of the other roles must be atomic: all lines of a role, or each one alone."""
    for role in roles:
        if reach == "single":
            yield from ([line] for line in placement.of(role))
        else:
            yield placement.of(role)


def _merged(
    placement: Placement, first: Region, others: Iterable[Region]
) -> tuple[Region, list[Region]]:
    """One region out of those that lie over each other: all threads run the same code."""
    apart = []
    for other in others:
        if first.overlaps(other):
            first = _joined(placement, first, other)
        elif other not in apart:
            apart.append(other)
    return first, apart


def _joined(placement: Placement, one: Region, other: Region) -> Region:
    assert one.span is not None
    assert other.span is not None
    low, high = min(one.span.first, other.span.first), max(one.span.last, other.span.last)
    span = one.span._replace(first=low, last=high)
    first = one.begin if one.span.first <= other.span.first else other.begin
    ends = max((one.span.last, one.end.points), (other.span.last, other.end.points))[1]
    end = one.end if one.end.points == ends else other.end
    # A thread of either region may be the first to come, so both ways in must lead into it.
    begin = replace(first, holds=tuple(sorted({*one.begin.holds, *other.begin.holds})))
    until: Points = ()
    if one.until and other.until:
        until = _until(placement, span, begin, tuple({*ends} & {*one.until, *other.until}))
    return Region(begin, end, until, one.leave, span)


def _is_under(placement: Placement, role: int, lock: int | None) -> bool:
    """Whether the events of a role are under the lock already, all in one go."""
    taken = [[one for one in line.held if one.cell == lock] for line in placement.of(role)]
    return lock is not None and all(taken) and len({locks[0] for locks in taken}) == 1


def _of_role(
    placement: Placement, lines: Sequence[PlacedLine], reach: Reach, lifted: bool
) -> Region | None:
    """The region from the first to the last of some lines, and as far as is asked for."""
    context = placement.context
    first, last = lines[0].event, lines[-1].event
    span = context.span(first, last, placement.stacks)
    if (span is None or span.code == NOWHERE) and reach in ("block", "function"):
        return None  # nothing would end it
    begins, ends = context.line_run(first)[0].point, context.line_run(last)[-1].point
    points = [begins]
    if span is not None and reach == "function":
        points.append(context.first_of(span))
        span = context.whole(span)
    entries = context.entries(points, lifted)
    begin = LinePoints((begins,), entries, lines[0].role, context.code(begins))
    until: Points = ()
    if reach != "function":
        until = _until(placement, span, begin, context.copies(ends) if reach != "block" else ())
    end = LinePoints((ends,), (ends,), lines[0].role, context.code(ends))
    return Region(begin, end, until, span.code if span else NOWHERE, span)


def _until(placement: Placement, span: Span | None, begin: LinePoints, ends: Points) -> Points:
    """The end, and all lines of the function outside, counted from where the region is entered."""
    outside: Points = ()
    if span is not None:
        lines = placement.context.lines_before(begin.points[0], begin.holds, span)
        outside = placement.context.outside(span, lines)
    return tuple(sorted({*outside, *ends}))


def _other_accesses(placement: Placement) -> Points:
    """All other accesses of the cells that the answer is about."""
    cells = {line.event.cell for line in placement.lines if line.event.is_access}
    return tuple(sorted(placement.context.touching(cells)))


def _accesses(placement: Placement, points: Points, lifted: bool) -> Iterator[Region]:
    """Single accesses, each a region of its own."""
    for point in points[:MOST_ACCESSES]:
        code = placement.context.code(point)
        begin = LinePoints((point,), placement.context.entries((point,), lifted), 0, code)
        yield Region(begin, LinePoints((point,), (point,), 0, code), (point,), code, None)


# Orders.


def _orders(placement: Placement) -> Iterator[Candidate]:
    """What came too early must wait for what came later; the last change of threads first."""
    for early, late in reversed(list(pairwise(placement.lines))):
        if early.role == late.role:
            continue
        for lifted in (False, True):
            holds = placement.context.entries(early.points, lifted)
            end = LinePoints(
                early.points, holds, early.role, placement.context.code(early.event.point)
            )
            begin = LinePoints(
                late.points, late.points, late.role, placement.context.code(late.event.point)
            )
            for scope, rules in _order_rules(placement, early, late, holds):
                yield Candidate("order", f"order {scope}", begin, end, tuple(rules), scope=scope)


def _order_rules(
    placement: Placement, early: PlacedLine, late: PlacedLine, holds: Points
) -> Iterator[tuple[Scope, list[Rule]]]:
    doers = {event.path for event in placement.context.all_events() if event.point in late.points}
    paths = sorted(doers - {early.event.path})
    yield "once", [_wait(holds, None, late.points)]
    yield "each", [_wait(holds, path, late.points) for path in paths]
    if early.event.path in doers:
        # Equal threads do both: which of them comes too early differs from run to run.
        yield "each", [_wait(holds, path, late.points) for path in sorted(doers)]
    yield (
        "turns",
        [
            Rule(
                when=Match(early.points),
                hold=Match(holds, who="self"),
                until=Match(late.points, who="others"),
            )
        ],
    )
    yield "ended", [_wait(holds, path, THREAD_ENDS) for path in paths if path != "0"]


def _wait(holds: Points, path: str | None, until: Points) -> Rule:
    return Rule(hold=Match(holds), until=Match(until, path=path))
