# SPDX-License-Identifier: Apache-2.0
"""Patches of C and C++ that are no mutex around some lines: a loop, an order kept, a join moved."""

from __future__ import annotations

import re
from collections.abc import Iterator

from unsnarl.patches.conflict import frames
from unsnarl.patches.native.conditions import events
from unsnarl.patches.native.conflict import CConflict, functions_named
from unsnarl.patches.native.lock_order import lock_orders
from unsnarl.patches.native.mutexes import synchronises
from unsnarl.patches.native.source import CEdits, CSource, StatementRun, covering
from unsnarl.patches.native.tree import Body, Function, Statement
from unsnarl.patches.regions import Draft
from unsnarl.patches.source import UnpatchableError

CONDITION_WAITS = ("pthread_cond_wait", "pthread_cond_timedwait", "cnd_wait")
JOINS = ("pthread_join", "thrd_join")
# What is taken away from others: whoever joins them afterwards should have done so before.
TEARDOWN = re.compile(r"\b(?:free|delete|nullptr|NULL|close|\w*_?destroy|clear|reset)\b")


def other_drafts(conflict: CConflict) -> Iterator[Draft]:
    """All of them that fit the finding."""
    makers = [rechecks, joins]
    if conflict.finding.kind == "deadlock":
        makers.append(lock_orders)
    fix = conflict.finding.fix
    # An order does not make anything atomic (docs/adr/0042).
    if conflict.finding.kind == "order" and fix is not None and fix.kind == "order":
        makers.append(events)
    if conflict.finding.kind == "order" or "before" in conflict.finding.shape:
        makers.append(moves)
    for maker in makers:
        try:
            yield from maker(conflict)
        except UnpatchableError:
            continue


def functions(conflict: CConflict) -> Iterator[tuple[CSource, Function]]:
    """The functions of the finding's points."""
    names = dict.fromkeys((one.file, one.function) for one in conflict.points)
    for file, qualified in sorted(names):
        source = conflict.sources.get(file)
        for function in functions_named(source, qualified) if source is not None else ():
            assert source is not None
            yield source, function


def bodies(body: Body) -> Iterator[Body]:
    """A body, and those in it."""
    yield body
    for statement in body.statements:
        for inner in statement.bodies:
            yield from bodies(inner)


def draft_of(kind: str, says: str, edits: CEdits, size: int) -> Draft:
    """A draft of one file; whether it compiles, the compiler says."""
    return Draft(kind, says, {edits.source.name: edits.text()}, size)


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
    called = [one for one, two in zip(words, words[1:], strict=False) if two == "("]
    return bool(called) and (called[0] in CONDITION_WAITS or called[0] == "wait")


# A join before the use.


def joins(conflict: CConflict) -> Iterator[Draft]:
    """Move the joins of threads before what must come after their end."""
    for source, line in dict.fromkeys(_too_early(conflict)):
        run = covering(source, line, line)
        behind = run.body.statements[run.last + 1 :]
        for index, statement in enumerate(behind):
            if any(_declares(one) for one in (*run.statements, *behind[:index])):
                break
            if _is_join(statement):
                yield _moved(source, run, statement)


def _too_early(conflict: CConflict) -> Iterator[tuple[CSource, int]]:
    """Lines that may have to wait for the end of threads."""
    fix = conflict.finding.fix
    if fix is not None and fix.kind == "order":
        places = [(fix.end.file, fix.end.line)]
    else:
        places = [
            (frame.file, frame.line)
            for point in conflict.accesses
            if TEARDOWN.search(point.text)
            for frame in frames(point)
        ]
    for file, line in places:
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


def _declares(statement: Statement) -> bool:
    """Whether it may declare what a later statement uses: two words, one after the other."""
    words = [one.kind == "word" and one.text != "return" for one in statement.tokens[:2]]
    return statement.kind == "simple" and words == [True, True]


def _moved(source: CSource, run: StatementRun, statement: Statement) -> Draft:
    edits = CEdits(source)
    first = run.statements[0]
    text = _dedented(source, statement)
    edits.line_before(first, text)
    edits.remove_lines(statement.begin, statement.end)
    says = f"join at {source.name}:{source.line_of(statement.begin)} before :{run.lines[0]}"
    return draft_of("join", says, edits, 2)


def _dedented(source: CSource, statement: Statement) -> str:
    """A statement's lines without the indentation of the first."""
    indent = source.indentation(source.line_of(statement.begin))
    text = source.text[statement.begin : statement.end]
    return "\n".join(
        line.removeprefix(indent) if at else line for at, line in enumerate(text.splitlines())
    )


# What is published too early.


def moves(conflict: CConflict) -> Iterator[Draft]:
    """Move what others wait for behind what it stands for, in one body."""
    by_role: dict[int, list[tuple[str, int]]] = {}
    for point in conflict.accesses:
        if point.op == "write":
            by_role.setdefault(point.role, []).append((point.file, point.line))
    for places in by_role.values():
        lines = sorted(set(places))
        for file, line in lines:
            for other_file, other in lines:
                source = conflict.sources.get(file)
                if source is not None and file == other_file and line < other:
                    yield from _behind(source, line, other)


def _behind(source: CSource, line: int, other: int) -> Iterator[Draft]:
    run = covering(source, line, other)
    early, late = run.statements[0], run.statements[-1]
    if early is late or early.kind != "simple" or _declares(early):
        return
    if source.conditional_between(run.begin, run.end) or not run.body.braced:
        return
    # It would leave the section of its own mutex, or come into another one.
    if any(synchronises(one) for statement in run.statements for one in statement.inner()):
        return
    edits = CEdits(source)
    edits.line_behind(late, _dedented(source, early), like=early)
    edits.remove_lines(early.begin, early.end)
    says = f"move {source.name}:{line} behind :{source.line_of(late.end - 1)}"
    yield draft_of("move", says, edits, 2)
