# SPDX-License-Identifier: Apache-2.0
"""All patches that are worth a try for a finding, small ones first."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace

from unsnarl.model.report import FindingPoint
from unsnarl.patches.blocks import LineSpan, covering
from unsnarl.patches.conflict import (
    CallLine,
    Conflict,
    called_names,
    frames,
    own_name,
    span_sets,
)
from unsnarl.patches.locks import (
    ClassSource,
    LockChoice,
    all_names,
    classes,
    new_name,
    plain_name,
)
from unsnarl.patches.other_drafts import other_drafts
from unsnarl.patches.regions import Draft, holds, lock_draft
from unsnarl.patches.source import UnpatchableError

# What a new lock, and a change of an old one, cost compared with lines below a lock.
NEW, REENTRANT = 3, 2
SYNCHRONISED = ("Lock", "RLock", "Condition")


def drafts(conflict: Conflict) -> list[Draft]:
    """Without repetitions, by what they cost."""
    found: dict[tuple[tuple[str, str], ...], Draft] = {}
    for draft in _all(conflict):
        found.setdefault(tuple(sorted(draft.texts.items())), draft)
    return sorted(
        found.values(),
        key=lambda one: (not keeps_together(conflict, one), calls_only(conflict, one), cost(one)),
    )


def cost(draft: Draft) -> int:
    """Small before large; the program's own lock before a new one."""
    choice = draft.choice
    extra = 0
    if choice is not None:
        extra = NEW * choice.is_new + REENTRANT * choice.reentrant
    return draft.size + extra


def _all(conflict: Conflict) -> Iterator[Draft]:
    yield from other_drafts(conflict)
    for spans in span_sets(conflict):
        yield from locked(conflict, spans)


def locked(conflict: Conflict, spans: Iterable[LineSpan]) -> Iterator[Draft]:
    """The lines under each lock that they can reach, and under a new one."""
    wanted = [span for span in spans if span.file in conflict.sources]
    if not wanted:
        return
    for choice in choices(conflict, wanted):
        for turns in (True, False):
            try:
                draft = lock_draft(conflict.sources, wanted, choice, conflict.at_fault, turns=turns)
            except UnpatchableError:
                continue
            if protects(conflict, draft):
                yield draft


def protects(conflict: Conflict, draft: Draft) -> bool:
    """Whether every access at fault is under the lock: else the failure only becomes rarer.

    An access counts as protected if it, or a call that led to it, is in the patch's lines or in a
    `with` of the same lock. Where no calls were seen, one in the patch's lines is taken for it.
    """
    return all(
        any(_is_protected(frame, conflict, draft) for frame in frames(point))
        or (not point.stack and _is_called(point.function, conflict, draft))
        for point in conflict.conflicting
    )


def keeps_together(conflict: Conflict, draft: Draft) -> bool:
    """Whether a thread that comes back after another one is in one critical section all the time.

    A lock that it lets go of in between rarely helps: such patches are tried last.
    """
    if draft.kind != "lock":
        return True
    every = conflict.conflicting
    for role in {one.role for one in every}:
        at = [index for index, one in enumerate(every) if one.role == role]
        if at[-1] - at[0] >= len(at) and not any(
            all(_is_inside(every[index], span, conflict, draft) for index in at)
            for span in draft.spans
        ):
            return False
    return True


def calls_only(conflict: Conflict, draft: Draft) -> bool:
    """Whether the lock is around calls of the code at fault, and not in it.

    That keeps these callers from failing, perhaps a test's; others still do.
    """
    lines = [LineSpan(one.file, one.line, one.line) for one in conflict.accesses]
    return any(not any(map(span.covers, lines)) for span in draft.spans)


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


def _calls_around(span: LineSpan, conflict: Conflict) -> list[tuple[int, str]]:
    """The calls of the function that some lines are in."""
    try:
        function = covering(conflict.sources[span.file], span.first, span.last).function
    except UnpatchableError:
        return []
    return list(called_names(function)) if function is not None else []


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


def choices(conflict: Conflict, spans: list[LineSpan]) -> Iterator[LockChoice]:
    """The locks of the program that the finding names or its classes have, then new ones."""
    owners = classes(conflict.sources, spans[0].file)
    yield from dict.fromkeys(_own(conflict, owners))
    for owner, _ in conflict.names:
        if owner in owners:
            source = owners[owner].source
            yield LockChoice(owner, new_name("_lock", all_names(source)), source.name, is_new=True)
    taken = set().union(*(all_names(source) for source in conflict.sources.values()))
    yield LockChoice("", new_name("_lock", taken), spans[0].file, is_new=True)


def _own(conflict: Conflict, owners: dict[str, ClassSource]) -> Iterator[LockChoice]:
    fix = conflict.finding.fix
    named = [fix.lock] if fix is not None and fix.lock else []
    named += [lock for point in conflict.points for lock in point.locks]
    named += conflict.lock_names if conflict.is_deadlock else []
    reentrant = fix is not None and fix.reentrant
    for name in dict.fromkeys(map(plain_name, named)):
        owner, _, attribute = name.rpartition(".")
        choice = LockChoice(owner.rpartition(".")[2], attribute)
        if reentrant and fix is not None and plain_name(fix.lock) == name:
            yield replace(choice, reentrant=True)
        yield choice
    for owner in dict.fromkeys(owner for owner, _ in conflict.names):
        if owner in owners:
            yield from (LockChoice(owner, name) for name in _locks_of(owners[owner]))
    for source in conflict.sources.values():
        for node in source.tree.body:
            if isinstance(node, ast.Assign) and _is_lock(node.value):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        yield LockChoice("", target.id, source.name)


def _locks_of(owner: ClassSource) -> Iterator[str]:
    for node in ast.walk(owner.node):
        if isinstance(node, ast.Assign) and _is_lock(node.value):
            for target in node.targets:
                if isinstance(target, ast.Attribute):
                    yield target.attr


def _is_lock(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in SYNCHRONISED
