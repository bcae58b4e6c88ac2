# SPDX-License-Identifier: Apache-2.0
"""All patches that are worth a try for a finding, small ones first."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from unsnarl.model.report import FindingPoint
from unsnarl.patches.blocks import LineSpan, covering, executed
from unsnarl.patches.callbacks import calls_callbacks
from unsnarl.patches.choices import choices
from unsnarl.patches.conflict import (
    FAIL,
    MAIN,
    WAITING,
    CallLine,
    Conflict,
    called_names,
    frames,
    naming,
    own_name,
    parsed,
    seen_outside,
    span_sets,
    whole_name,
    without_onlookers,
)
from unsnarl.patches.locks import (
    LockChoice,
    assignments,
    classes,
    plain_name,
    self_name,
)
from unsnarl.patches.monitors import monitors
from unsnarl.patches.other_drafts import other_drafts
from unsnarl.patches.regions import Draft, holds, lock_draft
from unsnarl.patches.source import UnpatchableError
from unsnarl.patches.tested import calls_only, repairs_tests_only
from unsnarl.patches.vain import own_values, writes_back

# What a new lock, a change of an old one, and one that is there for something else cost compared
# with lines below a lock.
NEW, REENTRANT, FOREIGN = 3, 2, 6


def drafts(conflict: Conflict) -> list[Draft]:
    """Without repetitions, by what they cost."""
    found: dict[tuple[tuple[str, str], ...], Draft] = {}
    for draft in _all(conflict):
        if repairs_tests_only(conflict, draft):
            continue
        found.setdefault(tuple(sorted(draft.texts.items())), draft)
    return sorted(found.values(), key=lambda one: _rank(conflict, one))


def _rank(conflict: Conflict, draft: Draft) -> tuple[bool, bool, bool, bool, bool, bool, bool, int]:
    # One more lock is the last thing that threads need which wait with locks held.
    waiting = conflict.finding.shape in WAITING and draft.kind == "lock"
    return (
        waiting,
        draft.kind == "local-copy" and writes_back(conflict),
        loses_own_value(conflict, draft),
        not keeps_together(conflict, draft),
        calls_only(conflict, draft),
        leaves_out(conflict, draft),
        leaves_behind(conflict, draft),
        cost(draft),
    )


def cost(draft: Draft) -> int:
    """Small before large; the program's own lock before a new one."""
    choice = draft.choice
    extra = 0
    if choice is not None:
        extra = NEW * choice.is_new + REENTRANT * choice.reentrant + FOREIGN * choice.is_foreign
    return draft.size + extra


def _all(conflict: Conflict) -> Iterator[Draft]:
    yield from other_drafts(conflict)
    for spans in (tuple(own_values(conflict)), *span_sets(conflict)):
        yield from locked(conflict, spans)
    for spans in monitors(conflict):
        yield from locked(conflict, spans, own=True)


def locked(conflict: Conflict, spans: Iterable[LineSpan], *, own: bool = False) -> Iterator[Draft]:
    """The lines under each lock that they can reach, and under a new one.

    With `own`, only an object's own attributes have to be protected: what it hands out is used
    without its lock.
    """
    wanted = [span for span in spans if span.file in conflict.sources]
    if not wanted:
        return
    for choice in choices(conflict, wanted):
        for turns in (True, False):
            draft = _held(conflict, wanted, choice, turns)
            if draft is not None and protects(conflict, draft, own=own):
                yield draft


def _held(
    conflict: Conflict, spans: list[LineSpan], choice: LockChoice, turns: bool
) -> Draft | None:
    """The draft; with an RLock where a plain one might be taken twice, if it can be made one."""
    tried = [choice]
    back = _comes_back(conflict, spans)
    twice = back or _is_taken_inside(conflict, spans, choice)
    twice = twice or (_is_shared(conflict, choice) and _calls_own(conflict, spans))
    if not choice.reentrant and twice:
        tried.insert(0, replace(choice, reentrant=True))
    for one in tried:
        if back and not one.reentrant and not _can_be_taken_twice(conflict, one):
            continue
        try:
            made = lock_draft(conflict.sources, spans, one, conflict.at_fault, turns=turns)
        except UnpatchableError:
            continue
        # No run says what others will hand in.
        return replace(made, says=f"{made.says}; callbacks run under it") if back else made
    return None


def _can_be_taken_twice(conflict: Conflict, choice: LockChoice) -> bool:
    """Whether the program makes it so; of a lock that was handed in, nobody knows."""
    return any(
        any(ast.unparse(one).rpartition(".")[2] == choice.name for one in node.targets)
        and ast.unparse(node.value).endswith(("RLock()", "Condition()"))
        for source in conflict.sources.values()
        for node in assignments(source)
    )


def _comes_back(conflict: Conflict, spans: list[LineSpan]) -> bool:
    """Whether these lines call what others handed in, which may come to them once more."""
    runs = (covering(conflict.sources[one.file], one.first, one.last) for one in spans)
    try:
        return any(calls_callbacks(conflict.sources, run) for run in runs)
    except UnpatchableError:
        return False


def _is_shared(conflict: Conflict, choice: LockChoice) -> bool:
    """Whether objects have a new lock in common: what one of them calls may come to another."""
    if not choice.is_new or choice.within:
        return False
    owner = classes(conflict.sources, choice.file).get(choice.owner)
    return owner is None or owner.constructor is None


def _calls_own(conflict: Conflict, spans: list[LineSpan]) -> bool:
    """Whether these lines call methods of the object, which may call those of others like it."""
    for one in spans:
        try:
            run = covering(conflict.sources[one.file], one.first, one.last)
        except UnpatchableError:
            continue
        me = self_name(run.function) if run.function is not None and run.owner else ""
        for node in executed(run.statements):
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Attribute) and me and ast.unparse(called.value) == me:
                return True
    return False


def _is_taken_inside(conflict: Conflict, spans: list[LineSpan], choice: LockChoice) -> bool:
    """Whether code that these lines call holds the lock: it was seen to, or it will."""
    if _lead_to_each_other(conflict, spans):
        return True
    if choice.is_new:
        return False
    for point in conflict.points:
        if choice.name in {plain_name(one).rpartition(".")[2] for one in point.locks}:
            own, *callers = (LineSpan(one.file, one.line, one.line) for one in frames(point))
            called = any(span.covers(caller) for caller in callers for span in spans)
            if called and not any(span.covers(own) for span in spans):
                return True
    return False


def _lead_to_each_other(conflict: Conflict, spans: list[LineSpan]) -> bool:
    """Whether some of these lines were seen to call others, or call their functions by name."""
    for point in conflict.points:
        own, *callers = (LineSpan(one.file, one.line, one.line) for one in frames(point))
        inner = [span for span in spans if span.covers(own)]
        outer = [span for span in spans if any(map(span.covers, callers))]
        if any(one != other for one in inner for other in outer):
            return True
    return any(
        _function_name(other, conflict) in _names_called(one, conflict)
        for one in spans
        for other in spans
        if one != other
    )


def _names_called(span: LineSpan, conflict: Conflict) -> set[str]:
    calls = _calls_around(span, conflict)
    return {name for line, name in calls if span.first <= line <= span.last}


def _function_name(span: LineSpan, conflict: Conflict) -> str | None:
    try:
        function = covering(conflict.sources[span.file], span.first, span.last).function
    except UnpatchableError:
        return None
    return function.name if function is not None else None


def protects(conflict: Conflict, draft: Draft, *, own: bool = False) -> bool:
    """Whether every access at fault is under the lock: else the failure only becomes rarer.

    An access counts as protected if it, or a call that led to it, is in the patch's lines or in a
    `with` of the same lock, or was seen to be made with the lock held. Where no calls were seen,
    one in the patch's lines is taken for it.
    """
    return all(
        any(_is_protected(frame, conflict, draft) for frame in frames(point))
        or _was_held(point, draft)
        or (not point.stack and _is_called(point.function, conflict, draft))
        for point in to_protect(conflict)
        if not own or _class_of(point) in conflict.owners
    )


def to_protect(conflict: Conflict) -> list[FindingPoint]:
    """The accesses at fault, without those of what only tests see.

    Where a simulated region repaired the program, those of its variables: threads came into it one
    at a time and were free everywhere else. What the main thread does last of all was not in it:
    it collects what the others have left (`queue.get()`).
    """
    outside = seen_outside(conflict)
    every = without_onlookers(
        conflict, [one for one in conflict.conflicting if whole_name(one) not in outside]
    )
    spans = fix_spans(conflict)

    def is_inside(point: FindingPoint) -> bool:
        lines = (LineSpan(one.file, one.line, one.line) for one in frames(point))
        return any(span.covers(line) for line in lines for span in spans)

    if spans:
        every = _without_last(every, is_inside)
    inside = {whole_name(one) for one in every if is_inside(one)}
    return [one for one in every if whole_name(one) in inside] or every


def _without_last(
    points: list[FindingPoint], is_inside: Callable[[FindingPoint], bool]
) -> list[FindingPoint]:
    """Without the last accesses, if they are the main thread's and not in the region."""
    end = len(points)
    while end and points[end - 1].thread == MAIN and not is_inside(points[end - 1]):
        end -= 1
    others = {one.role for one in points[:end]}
    return points[:end] if len(others) > 1 else points


def fix_spans(conflict: Conflict) -> list[LineSpan]:
    """The lines of a simulated region that survived its runs; none if there is no such region."""
    fix = conflict.finding.fix
    if fix is None or fix.kind != "region" or fix.fail + fix.deadlocks or not fix.runs:
        return []
    if fix.begin.file != fix.end.file:
        return []
    others = [span for span in map(parsed, fix.others) if span is not None]
    return [LineSpan(fix.begin.file, fix.begin.line, max(fix.begin.line, fix.end.line)), *others]


def _was_held(point: FindingPoint, draft: Draft) -> bool:
    """Whether the access was made with a lock of the program held that the patch uses."""
    choice = draft.choice
    if choice is None or choice.is_new:
        return False
    wanted = f"{choice.owner}.{choice.name}" if choice.owner else choice.name
    return any(f".{plain_name(one)}".endswith(f".{wanted}") for one in point.locks)


def _class_of(point: FindingPoint) -> str:
    """`RLock` of `RLock.file`: whose attribute a variable is."""
    return plain_name(point.variable).rpartition(".")[0].rpartition(".")[2]


def keeps_together(conflict: Conflict, draft: Draft) -> bool:
    """Whether a thread that comes back after another one is in one critical section all the time.

    A lock that it lets go of in between rarely helps: such patches are tried last.
    """
    if draft.kind != "lock":
        return True
    every = to_protect(conflict)
    came_back = _came_back(every)
    failed = {one.role for one in conflict.points if one.op == FAIL}
    # What the others were in the middle of is of no matter, if who failed was in the middle, too.
    wanted = came_back.keys() & failed or came_back.keys()
    return all(
        any(
            all(_is_inside(one, span, conflict, draft) for one in came_back[role])
            for span in draft.spans
        )
        for role in wanted
    )


def _came_back(every: Sequence[FindingPoint]) -> dict[int, list[FindingPoint]]:
    """The accesses of roles that others came in between of."""
    found = {}
    for role in {one.role for one in every}:
        at = [index for index, one in enumerate(every) if one.role == role]
        if at[-1] - at[0] >= len(at):
            found[role] = [every[index] for index in at]
    return found


def loses_own_value(conflict: Conflict, draft: Draft) -> bool:
    """Whether a thread that assigns a variable and then reads it may read another one's value."""
    if draft.kind not in ("lock", "local-copy"):
        return False
    values = own_values(conflict)
    return not all(any(span.covers(one) for span in draft.spans) for one in values)


def leaves_out(conflict: Conflict, draft: Draft) -> bool:
    """Whether lines are not under the lock that had to be atomic in the simulation.

    That tries small regions first, so what is smaller than the one that worked has failed there.
    """
    own = fix_spans(conflict)[:1]
    if draft.kind != "lock" or not own or _keeps_failing_together(conflict, draft):
        return False
    return not any(span.covers(own[0]) for span in draft.spans)


def leaves_behind(conflict: Conflict, draft: Draft) -> bool:
    """Whether a function goes on with the variables at fault when it has let go of the lock.

    What it does there was decided under the lock, and holds only for as long as that.
    """
    if draft.kind != "lock" or draft.turns:
        return False
    for span in draft.spans:
        function = covering(conflict.sources[span.file], span.first, span.last).function
        behind = naming(function, conflict.at_fault) if function is not None else ()
        if any(line > span.last and not _is_under(span.file, line, draft) for line in behind):
            return True
    return False


def _is_under(file: str, line: int, draft: Draft) -> bool:
    return any(span.covers(LineSpan(file, line, line)) for span in draft.spans)


def _keeps_failing_together(conflict: Conflict, draft: Draft) -> bool:
    """Whether who failed between two of its accesses makes them in one critical section.

    Others may have had to do more before it failed, which is no part of the mistake: who takes the
    last connection gives it back afterwards.
    """
    failed = {one.role for one in conflict.points if one.op == FAIL}
    came_back = _came_back(to_protect(conflict))
    return bool(came_back.keys() & failed) and keeps_together(conflict, draft)


def _is_inside(point: FindingPoint, span: LineSpan, conflict: Conflict, draft: Draft) -> bool:
    lines = [LineSpan(frame.file, frame.line, frame.line) for frame in frames(point)]
    alone = replace(draft, spans=(span,))
    return any(map(span.covers, lines)) or _is_called(point.function, conflict, alone)


def _is_called(qualified: str, conflict: Conflict, draft: Draft) -> bool:
    """Whether the patch's lines call this function."""
    name = own_name(qualified)
    return any(
        called == name and span.first <= line <= span.last
        for span in draft.spans
        for line, called in _calls_around(span, conflict)
    )


def _calls_around(span: LineSpan, conflict: Conflict) -> tuple[tuple[int, str], ...]:
    """The calls of the function that some lines are in."""
    try:
        function = covering(conflict.sources[span.file], span.first, span.last).function
    except UnpatchableError:
        return ()
    return called_names(function) if function is not None else ()


def _is_protected(frame: CallLine, conflict: Conflict, draft: Draft) -> bool:
    line = LineSpan(frame.file, frame.line, frame.line)
    if any(span.covers(line) for span in draft.spans):
        return True
    source = conflict.sources.get(frame.file)
    if source is None or draft.choice is None or draft.choice.is_new:
        return False
    return holds(source, frame.line, draft.choice.name)


def with_reentrant_lock(conflict: Conflict, draft: Draft) -> Draft | None:
    """The same with a lock that a thread may take twice; None if that is no other patch."""
    if draft.choice is None or draft.choice.reentrant:
        return None
    choice = replace(draft.choice, reentrant=True)
    try:
        return lock_draft(
            conflict.sources, draft.spans, choice, conflict.at_fault, turns=draft.turns
        )
    except UnpatchableError:
        return None
