# SPDX-License-Identifier: Apache-2.0
"""Patches of C and C++ that are no mutex around some lines: a loop, an order kept, a join moved."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from unsnarl.patches.conflict import frames
from unsnarl.patches.native.conditions import events
from unsnarl.patches.native.conflict import CConflict, functions_named
from unsnarl.patches.native.lock_order import lock_orders
from unsnarl.patches.native.moves import announcements, declares, dedented, draft_of, moves
from unsnarl.patches.native.source import CEdits, CSource, StatementRange, covering
from unsnarl.patches.native.tree import CFunction, Statement
from unsnarl.patches.regions import Draft
from unsnarl.patches.source import UnpatchableError

CONDITION_WAITS = ("pthread_cond_wait", "pthread_cond_timedwait", "cnd_wait")
JOINS = ("pthread_join", "thrd_join")
# What is taken away from others: whoever joins them afterwards should have done so before.
TEARDOWN = re.compile(r"\b(?:free|delete|nullptr|NULL|close|\w*_?destroy|clear|reset)\b")


def other_drafts(conflict: CConflict) -> Iterator[Draft]:
    """All of them that fit the finding."""
    makers = [rechecks, joins, moves, announcements]
    if conflict.finding.kind == "deadlock":
        makers.append(lock_orders)
    fix = conflict.finding.fix
    # An order does not make anything atomic (docs/adr/0042).
    if conflict.finding.kind == "order" and fix is not None and fix.kind == "order":
        makers.append(events)
    for maker in makers:
        try:
            yield from maker(conflict)
        except UnpatchableError:
            continue


def functions(conflict: CConflict) -> Iterator[tuple[CSource, CFunction]]:
    """The functions of the finding's points."""
    names = dict.fromkeys((one.file, one.function) for one in conflict.points)
    for file, qualified in sorted(names):
        source = conflict.sources.get(file)
        for function in functions_named(source, qualified) if source is not None else ():
            assert source is not None
            yield source, function


# A wait in a loop.


def rechecks(conflict: CConflict) -> Iterator[Draft]:
    """`while` instead of `if` around a condition's wait: what was true when it was woken may not
    be any more."""
    for source, function in functions(conflict):
        for statement in (one for top in function.body.statements for one in top.inner()):
            if statement.kind == "if" and len(statement.bodies) == 1 and _only_waits(statement):
                word = statement.tokens[0]
                edits = CEdits(source)
                edits.replace(word.begin, word.end, "while")
                line = source.line_of(word.begin)
                says = f"check the condition of {source.name}:{line} once more after the wait"
                yield draft_of("recheck", says, edits, 1)


def _only_waits(statement: Statement) -> bool:
    inner = statement.bodies[0].statements
    if len(inner) != 1 or inner[0].kind != "simple":
        return False
    words = [one.text for one in inner[0].tokens]
    called = [one for one, two in pairwise(words) if two == "("]
    return bool(called) and (called[0] in CONDITION_WAITS or called[0] == "wait")


# A join before the use.


def joins(conflict: CConflict) -> Iterator[Draft]:
    """Move the joins of threads before what must come after their end."""
    for source, line in dict.fromkeys(_too_early(conflict)):
        run = covering(source, line, line)
        behind = run.body.statements[run.last + 1 :]
        for index, statement in enumerate(behind):
            if any(declares(one) for one in (*run.statements, *behind[:index])):
                break
            if _is_join(statement):
                yield _moved(source, run, statement)


def _too_early(conflict: CConflict) -> Iterator[tuple[CSource, int]]:
    """Lines that may have to wait for the end of threads."""
    fix = conflict.finding.fix
    if fix is not None and fix.kind == "order":
        positions = [(fix.end.file, fix.end.line)]
    else:
        positions = [
            (frame.file, frame.line)
            for point in conflict.accesses
            if TEARDOWN.search(point.text)
            for frame in frames(point)
        ]
    for file, line in positions:
        source = conflict.sources.get(file)
        if source is not None:
            yield source, line


def _is_join(statement: Statement) -> bool:
    """A join, or a loop of joins alone."""
    if statement.kind in ("for", "while"):
        inner = [one for body in statement.bodies for one in body.statements]
        return bool(inner) and all(map(_is_join, inner))
    if statement.kind != "simple":
        return False
    words = [one.text for one in statement.tokens]
    return words[0] in JOINS or words[-5:] == [".", "join", "(", ")", ";"]


def _moved(source: CSource, run: StatementRange, statement: Statement) -> Draft:
    edits = CEdits(source)
    first = run.statements[0]
    text = dedented(source, statement)
    edits.line_before(first, text)
    edits.remove_lines(statement.begin, statement.end)
    says = f"join at {source.name}:{source.line_of(statement.begin)} before :{run.lines[0]}"
    return draft_of("join", says, edits, 2)
