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

from unsnarl.experiments.constraints import Rule
from unsnarl.experiments.ground import NOWHERE, Codes, Span
from unsnarl.experiments.rules import THREAD_ENDS
from unsnarl.experiments.scene import Points, Spot
from unsnarl.experiments.story import Part, Story
from unsnarl.model.site import Op

Reach = Literal["line", "block", "single", "function"]
Scope = Literal["", "once", "each", "turns", "ended"]  # of an order (model/finding.py, Repair)
MOST_ACCESSES = 50  # the gate takes 64 rules


@dataclass(frozen=True)
class Candidate:
    """A fix to be tried."""

    kind: Literal["region", "order"]
    name: str
    begin: Spot
    end: Spot
    rules: tuple[Rule, ...]
    lock: int | None = None
    acquires: Points = ()
    span: Span | None = None
    others: tuple[tuple[Spot, Spot], ...] = ()
    scope: Scope = ""
    forcing: tuple[Rule, ...] = ()


class Region(NamedTuple):
    """Where one role must not be disturbed."""

    begin: Spot
    end: Spot
    until: Points
    leave: Codes
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
        rule: Rule = {"when": {"points": list(self.begin.holds)}, "exclusive": 0}
        if self.until:
            rule["until"] = {"points": list(self.until)}
        if self.leave != NOWHERE:
            rule["leave"] = list(self.leave)
        if acquires:
            rule["guards"] = list(acquires)
        if acquires or kept_out:
            rule["hold"] = {"who": "others", "points": sorted({*acquires, *kept_out})}
        return rule


def candidates(story: Story) -> Iterator[Candidate]:
    """All that is worth a try, without repetitions."""
    tried = []
    for candidate in _all(story):
        if candidate.rules not in tried:
            tried.append(candidate.rules)
            yield replace(candidate, forcing=story.forcing)


def _all(story: Story) -> Iterator[Candidate]:
    if story.cycle:
        yield from _of_cycle(story)
    if len({part.role for part in story.parts}) < 2:
        return
    if story.returning is None:
        yield from _orders(story)
    yield from _regions(story)
    if story.returning is not None:
        yield from _orders(story)


# Deadlocks.


def _of_cycle(story: Story) -> Iterator[Candidate]:
    """From the first lock of the cycle to the second one, nobody else."""
    taken = {wait.owner: wait.taken for wait in story.cycle}
    ends = {(taken[wait.thread], wait.point & ~15 | Op.ACQUIRE) for wait in story.cycle}
    first = tuple(sorted({begin for begin, _ in ends}))
    second = tuple(sorted({end for _, end in ends}))
    code = story.ground.code(first[0])
    same = {story.ground.code(point) for point in (*first, *second)} == {code}
    pairs = [(_at(story, begin), _at(story, end)) for begin, end in sorted(ends)]
    whole = Region(
        Spot(first, first, 1, code), pairs[0][1], second, code if same else NOWHERE, None
    )
    rules = (whole.rule((), ()),)
    yield Candidate("region", "locks", *pairs[0], rules, others=tuple(pairs[1:]))


def _at(story: Story, point: int) -> Spot:
    return Spot((point,), (point,), 1, story.ground.code(point))


# Regions.

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


def _regions(story: Story) -> Iterator[Candidate]:
    for accesses in (False, True):
        for mine, others in REACHES:
            for lifted in (False, True):
                yield from _region(story, mine, others, lifted, accesses)


def _region(
    story: Story, mine: Reach, others: Reach, lifted: bool, accesses: bool
) -> Iterator[Candidate]:
    """One shape: with the program's own lock if there is one, and with a new one."""
    back, *rest = story.roles
    first = _of_role(story, story.of(back), mine, lifted)
    if first is None:
        return
    name = f"{mine}/{others}{' lifted' if lifted else ''}{' all' if accesses else ''}"
    for lock in dict.fromkeys((story.lock, None)):
        acquires = story.ground.acquires(lock) if lock is not None else ()
        free = [role for role in rest if not _is_under(story, role, lock)]
        more = [_of_role(story, parts, others, lifted) for parts in _groups(story, free, others)]
        whole, kept = _merged(story, first, [region for region in more if region is not None])
        if accesses:
            kept += _accesses(story, lifted)
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


def _groups(story: Story, roles: Iterable[int], reach: Reach) -> Iterator[list[Part]]:
    """What of the other roles must be atomic: all steps of a role, or each one alone."""
    for role in roles:
        if reach == "single":
            yield from ([part] for part in story.of(role))
        else:
            yield story.of(role)


def _merged(story: Story, first: Region, others: Iterable[Region]) -> tuple[Region, list[Region]]:
    """One region out of those that lie over each other: all threads run the same code."""
    apart = []
    for other in others:
        if first.overlaps(other):
            first = _joined(story, first, other)
        elif other not in apart:
            apart.append(other)
    return first, apart


def _joined(story: Story, one: Region, other: Region) -> Region:
    assert one.span is not None
    assert other.span is not None
    low, high = min(one.span.first, other.span.first), max(one.span.last, other.span.last)
    span = one.span._replace(first=low, last=high)
    first = one.begin if one.span.first <= other.span.first else other.begin
    ends = max((one.span.last, one.end.points), (other.span.last, other.end.points))[1]
    end = one.end if one.end.points == ends else other.end
    begin = replace(first, holds=tuple(sorted({*one.begin.holds, *other.begin.holds})))
    until: Points = ()
    if one.until and other.until:
        until = _until(story, span, begin, tuple({*ends} & {*one.until, *other.until}))
    return Region(begin, end, until, one.leave, span)


def _is_under(story: Story, role: int, lock: int | None) -> bool:
    """Whether the steps of a role have the lock already, all in one go."""
    taken = [[pair for pair in part.step.held if pair[0] == lock] for part in story.of(role)]
    return lock is not None and all(taken) and len({pairs[0] for pairs in taken}) == 1


def _of_role(story: Story, parts: Sequence[Part], reach: Reach, lifted: bool) -> Region | None:
    """The region from the first to the last of some steps, and as far as is asked for."""
    ground = story.ground
    first, last = parts[0].step, parts[-1].step
    span = ground.span(first, last, story.stacks)
    if (span is None or span.code == NOWHERE) and reach in ("block", "function"):
        return None  # nothing would end it
    begins, ends = ground.line_run(first)[0].point, ground.line_run(last)[-1].point
    points = [begins]
    if span is not None and reach == "function":
        points.append(ground.first_of(span))
        span = ground.whole(span)
    entries = ground.entries(points, lifted)
    begin = Spot((begins,), entries, parts[0].role, ground.code(begins))
    until: Points = ()
    if reach != "function":
        until = _until(story, span, begin, ground.copies(ends) if reach != "block" else ())
    end = Spot((ends,), (ends,), parts[0].role, ground.code(ends))
    return Region(begin, end, until, span.code if span else NOWHERE, span)


def _until(story: Story, span: Span | None, begin: Spot, ends: Points) -> Points:
    """The end, and all lines of the function outside, counted from where the region is entered."""
    outside: Points = ()
    if span is not None:
        lines = story.ground.lines_before(begin.points[0], begin.holds, span)
        outside = story.ground.outside(span, lines)
    return tuple(sorted({*outside, *ends}))


def _accesses(story: Story, lifted: bool) -> Iterator[Region]:
    """All other accesses of what the story is about, one by one."""
    cells = {step.cell for step in story.steps if not Op(step.point & 15).is_sync}
    for point in sorted(story.ground.touching(cells))[:MOST_ACCESSES]:
        code = story.ground.code(point)
        begin = Spot((point,), story.ground.entries((point,), lifted), 0, code)
        yield Region(begin, Spot((point,), (point,), 0, code), (point,), code, None)


# Orders.


def _orders(story: Story) -> Iterator[Candidate]:
    """What came too early must wait for what came later; the last turn of the story first."""
    for early, late in reversed(list(pairwise(story.parts))):
        if early.role == late.role:
            continue
        for lifted in (False, True):
            holds = story.ground.entries(early.points, lifted)
            end = Spot(early.points, holds, early.role, story.ground.code(early.step.point))
            begin = Spot(late.points, late.points, late.role, story.ground.code(late.step.point))
            for scope, rules in _order_rules(story, early, late, holds):
                yield Candidate("order", f"order {scope}", begin, end, tuple(rules), scope=scope)


def _order_rules(
    story: Story, early: Part, late: Part, holds: Points
) -> Iterator[tuple[Scope, list[Rule]]]:
    paths = sorted(
        {
            step.path
            for run in story.ground.runs
            for step in run
            if step.point in late.points and step.path != early.step.path
        }
    )
    yield "once", [_wait(holds, None, late.points)]
    yield "each", [_wait(holds, path, late.points) for path in paths]
    yield (
        "turns",
        [
            {
                "when": {"points": list(early.points)},
                "hold": {"who": "self", "points": list(holds)},
                "until": {"who": "others", "points": list(late.points)},
            }
        ],
    )
    yield "ended", [_wait(holds, path, THREAD_ENDS) for path in paths if path != "0"]


def _wait(holds: Points, path: str | None, until: Sequence[int]) -> Rule:
    return {
        "when": None,
        "hold": {"who": "any", "points": list(holds)},
        "until": {"who": "any", "points": list(until), "path": path},
    }
