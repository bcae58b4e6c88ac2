# SPDX-License-Identifier: Apache-2.0
"""A fix in the program's own terms: source lines, functions, its lock."""

from __future__ import annotations

from collections.abc import Iterator

from unsnarl.experiments.fix import TriedFix
from unsnarl.model.event import Op
from unsnarl.model.report import Fix, SourceLine
from unsnarl.placement.code_context import CodeContext, CodeLine
from unsnarl.placement.line_points import LinePoints, Points
from unsnarl.placement.occurrence import Placement


def named(fix: TriedFix) -> Fix:
    """What reports show of a fix; they add the text of its lines."""
    begin, end = _ends(fix)
    lock = fix.candidate.lock
    return Fix(
        kind=fix.candidate.kind,
        begin=begin,
        end=end,
        lock=fix.placement.lock_names.get(lock, "") if lock is not None else "",
        lock_site=_lock_site(fix.placement, lock) if lock is not None else "",
        reentrant=_is_taken_inside(fix),
        function=_function(fix, begin, end),
        others=tuple(_others(fix, begin, end)),
        scope=fix.candidate.scope,
        fail=fix.result.fail,
        deadlocks=fix.result.deadlocks,
        runs=fix.result.runs,
        tried=fix.tried,
    )


def _ends(fix: TriedFix) -> tuple[SourceLine, SourceLine]:
    """The lines of the function that has the whole region, if one has: there the lock would be."""
    candidate, span = fix.candidate, fix.candidate.span
    if candidate.kind == "region" and span is not None:
        return (
            SourceLine(span.file, span.first, span.function),
            SourceLine(span.file, span.last, span.function),
        )
    context = fix.placement.context
    return _source_line(context, candidate.begin), _source_line(context, candidate.end)


def _source_line(context: CodeContext, points: LinePoints) -> SourceLine:
    file, function, line = _met(context, points.points)
    return SourceLine(file, line, function)


def _met(context: CodeContext, points: Points) -> CodeLine:
    """The line of the first point that a traced run met."""
    lines = [context.line(point) for point in points]
    return next((line for line in lines if line[2]), lines[0])


def _lock_site(placement: Placement, lock: int) -> str:
    """Where those who keep to the rules take the lock; else where anybody first does."""
    keepers = [line for line in placement.lines if line.role != placement.returning]
    taken = [one.point for line in keepers for one in line.held if one.cell == lock]
    file, _, line = _met(placement.context, (*taken, *placement.context.acquires(lock)))
    return f"{file}:{line}"


def _is_taken_inside(fix: TriedFix) -> bool:
    """Whether the region calls something that takes the lock, too: a plain one would deadlock."""
    lock, span, placement = fix.candidate.lock, fix.candidate.span, fix.placement
    if lock is None or span is None:
        return False
    mine = placement.of(placement.roles[0])
    first, last = mine[0].event, mine[-1].event
    taken = {one.point for one in mine[0].held if one.cell == lock}
    taken |= {
        event.point
        for event in placement.context.events[first.at : last.at]
        if (event.path, event.cell) == (first.path, lock) and event.op is Op.ACQUIRE
    }
    return any(placement.context.code(point) != span.code for point in taken)


def _function(fix: TriedFix, begin: SourceLine, end: SourceLine) -> str:
    same = fix.candidate.kind == "region" and begin.function == end.function
    return begin.function if same else ""


def _others(fix: TriedFix, begin: SourceLine, end: SourceLine) -> Iterator[str]:
    """The other regions, without those that lie in the fix's own lines."""
    context, own = fix.placement.context, range(begin.line, end.line + 1)
    pairs = [
        (_source_line(context, one), _source_line(context, two))
        for one, two in fix.candidate.others
    ]
    texts = {
        (first.file, first.line, last.line): _lines(first, last)
        for first, last in pairs
        if first.file != begin.file or first.line not in own or last.line not in own
    }
    yield from dict.fromkeys(texts[key] for key in sorted(texts))


def _lines(first: SourceLine, last: SourceLine) -> str:
    """`bank.py:14`, or `bank.py:14-17`; across files, where it begins."""
    within = first.file == last.file and first.line < last.line
    return f"{first.file}:{first.line}" + (f"-{last.line}" if within else "")
