# SPDX-License-Identifier: Apache-2.0
"""A fix in words that a person knows: source lines, functions, the program's own lock."""

from __future__ import annotations

from collections.abc import Iterator

from unsnarl.experiments.fix import Fix
from unsnarl.experiments.ground import Ground, Place
from unsnarl.experiments.scene import Points, Spot
from unsnarl.experiments.story import Story
from unsnarl.model.finding import Repair, RepairPlace
from unsnarl.model.site import Op


def named(fix: Fix) -> Repair:
    """What reports tell of a fix; they add the text of its lines."""
    begin, end = _ends(fix)
    lock = fix.candidate.lock
    return Repair(
        kind=fix.candidate.kind,
        begin=begin,
        end=end,
        lock=fix.story.lock_names.get(lock, "") if lock is not None else "",
        lock_site=_lock_site(fix.story, lock) if lock is not None else "",
        reentrant=_is_taken_inside(fix),
        function=_function(fix, begin, end),
        others=tuple(_others(fix, begin, end)),
        scope=fix.candidate.scope,
        fail=fix.outcome.fail,
        deadlocks=fix.outcome.deadlocks,
        runs=fix.outcome.runs,
        tried=fix.tried,
    )


def _ends(fix: Fix) -> tuple[RepairPlace, RepairPlace]:
    """The lines of the function that has the whole region, if one has: there the lock would be."""
    candidate, span = fix.candidate, fix.candidate.span
    if candidate.kind == "region" and span is not None:
        return (
            RepairPlace(span.file, span.first, span.function),
            RepairPlace(span.file, span.last, span.function),
        )
    return _place(fix.story.ground, candidate.begin), _place(fix.story.ground, candidate.end)


def _place(ground: Ground, spot: Spot) -> RepairPlace:
    file, function, line = _known(ground, spot.points)
    return RepairPlace(file, line, function)


def _known(ground: Ground, points: Points) -> Place:
    """The line of the first point that a traced run met."""
    places = [ground.place(point) for point in points]
    return next((place for place in places if place[2]), places[0])


def _lock_site(story: Story, lock: int) -> str:
    """Where those who keep to the rules take the lock; else the first place at all."""
    keepers = [part.step for part in story.parts if part.role != story.returning]
    taken = [point for step in keepers for cell, point in step.held if cell == lock]
    file, _, line = _known(story.ground, (*taken, *story.ground.acquires(lock)))
    return f"{file}:{line}"


def _is_taken_inside(fix: Fix) -> bool:
    """Whether the region calls something that takes the lock, too: a plain one would deadlock."""
    lock, span, story = fix.candidate.lock, fix.candidate.span, fix.story
    if lock is None or span is None:
        return False
    mine = story.of(story.roles[0])
    first, last = mine[0].step, mine[-1].step
    taken = {point for cell, point in first.held if cell == lock}
    taken |= {
        step.point
        for step in story.ground.steps[first.at : last.at]
        if (step.path, step.cell) == (first.path, lock) and step.point & 15 == Op.ACQUIRE
    }
    return any(story.ground.code(point) != span.code for point in taken)


def _function(fix: Fix, begin: RepairPlace, end: RepairPlace) -> str:
    same = fix.candidate.kind == "region" and begin.function == end.function
    return begin.function if same else ""


def _others(fix: Fix, begin: RepairPlace, end: RepairPlace) -> Iterator[str]:
    """The other regions, without those that lie in the fix's own lines."""
    ground, own = fix.story.ground, range(begin.line, end.line + 1)
    pairs = [(_place(ground, one), _place(ground, two)) for one, two in fix.candidate.others]
    texts = {
        (first.file, first.line, last.line): _lines(first, last)
        for first, last in pairs
        if first.file != begin.file or first.line not in own or last.line not in own
    }
    yield from dict.fromkeys(texts[key] for key in sorted(texts))


def _lines(first: RepairPlace, last: RepairPlace) -> str:
    """`bank.py:14`, or `bank.py:14-17`; across files, where it begins."""
    within = first.file == last.file and first.line < last.line
    return f"{first.file}:{first.line}" + (f"-{last.line}" if within else "")
