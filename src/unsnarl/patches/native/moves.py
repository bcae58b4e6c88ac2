# SPDX-License-Identifier: Apache-2.0
"""What is published or announced too early moves behind what it stands for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from unsnarl.model.report import FindingPoint
from unsnarl.patches.conflict import frames
from unsnarl.patches.native.conflict import CConflict
from unsnarl.patches.native.mutexes import synchronises, text_of
from unsnarl.patches.native.source import CEdits, CSource, StatementRange, covering
from unsnarl.patches.native.tree import Statement
from unsnarl.patches.regions import Draft
from unsnarl.patches.source import UnpatchableError

# Calls that let others go on.
ANNOUNCING = re.compile(
    r"sem_post\(|pthread_cond_(?:signal|broadcast)\(|notify_(?:one|all)\(|atomic_\w+\("
    r"|\.(?:store|exchange|fetch_\w+)\("
)
ATOMIC = re.compile(r"(?:std::)?atomic|_Atomic")
# So many statements before the access may an announcement be.
NEAR = 3


def moves(conflict: CConflict) -> Iterator[Draft]:
    """Move what others look at first behind what they use then, in one body.

    Only where others look whether it is there: two variables that are read without a look must be
    changed as one, which no order does.
    """
    if not is_about_order(conflict):
        return
    by_role: dict[int, list[FindingPoint]] = {}
    for point in conflict.accesses:
        if point.op == "write":
            by_role.setdefault(point.role, []).append(point)
    for points in by_role.values():
        for early in points:
            for late in points:
                source = conflict.sources.get(early.file)
                if source is None or early.file != late.file or early.line >= late.line:
                    continue
                if _is_looked_at(conflict, early, late):
                    yield from _behind(source, early.line, late.line)


def _is_looked_at(conflict: CConflict, early: FindingPoint, late: FindingPoint) -> bool:
    """Whether others test the one before they use the other, or reach the other through it."""
    name = early.variable.rpartition(".")[2]
    if name and re.match(rf"{re.escape(name)}\b", late.variable):
        return True
    reads = [
        one
        for one in conflict.accesses
        if one.op == "read" and one.role != early.role and one.variable == early.variable
    ]
    return any(_is_tested(conflict.sources[one.file], one.line) for one in reads)


def _is_tested(source: CSource, line: int) -> bool:
    """Whether the line is in the head of an `if` or a loop."""
    try:
        run = covering(source, line, line)
    except UnpatchableError:
        return False
    return run.statements[0].kind in ("if", "while")


def announcements(conflict: CConflict) -> Iterator[Draft]:
    """Let others go on behind the access, or behind the call that leads to it, not before."""
    fix = conflict.finding.fix
    ordered = is_about_order(conflict)
    for frame in dict.fromkeys(one for point in conflict.accesses for one in frames(point)):
        source = conflict.sources.get(frame.file)
        if source is None:
            continue
        run = covering(source, frame.line, frame.line)
        for index in range(max(0, run.first - NEAR), run.first):
            early = run.body.statements[index]
            begins = fix is not None and source.line_of(early.begin) == fix.begin.line
            if (ordered or begins) and announces(early, source):
                yield from _moved_behind(source, run.widened(index, run.last))


def is_about_order(conflict: CConflict) -> bool:
    """Whether one access comes too early, rather than between two others."""
    return conflict.finding.kind == "order" or "before" in conflict.finding.shape


def announces(statement: Statement, source: CSource) -> bool:
    """Whether others may wait for it: a semaphore, a condition, an atomic variable."""
    if statement.kind != "simple" or declares(statement):
        return False
    atomic = {one.name for one in source.unit.variables if ATOMIC.match(one.type)}
    words = {one.text for one in statement.tokens}
    signals = words & _signalling(source)
    return bool(ANNOUNCING.search(text_of(statement)) or atomic & words or signals)


def _signalling(source: CSource) -> set[str]:
    """The functions of the file that wake others themselves."""
    return {
        one.name
        for one in source.unit.functions
        if any(ANNOUNCING.search(text_of(statement)) for statement in one.body.statements)
    }


def _behind(source: CSource, line: int, other: int) -> Iterator[Draft]:
    run = covering(source, line, other)
    # It would leave the section of its own mutex, or come into another one.
    if not any(synchronises(one) for one in run.inner):
        yield from _moved_behind(source, run)


def _moved_behind(source: CSource, run: StatementRange) -> Iterator[Draft]:
    """The first statement of a run behind its last one."""
    early, late = run.statements[0], run.statements[-1]
    if early is late or early.kind != "simple" or declares(early):
        return
    if source.conditional_between(run.begin, run.end) or not run.body.braced:
        return
    edits = CEdits(source)
    edits.line_behind(late, dedented(source, early), like=early)
    edits.remove_lines(early.begin, early.end)
    lines = source.line_of(early.begin), source.line_of(late.end - 1)
    yield draft_of("move", f"move {source.name}:{lines[0]} behind :{lines[1]}", edits, 2)


def draft_of(kind: str, says: str, edits: CEdits, size: int) -> Draft:
    """A draft of one file; whether it compiles, the compiler says."""
    return Draft(kind, says, {edits.source.name: edits.text()}, size)


def declares(statement: Statement) -> bool:
    """Whether it may declare what a later statement uses: two words, one after the other."""
    words = [one.kind == "word" and one.text != "return" for one in statement.tokens[:2]]
    return statement.kind == "simple" and words == [True, True]


def dedented(source: CSource, statement: Statement) -> str:
    """A statement's lines without the indentation of the first."""
    indent = source.indentation(source.line_of(statement.begin))
    text = source.text[statement.begin : statement.end]
    return "\n".join(
        line.removeprefix(indent) if at else line for at, line in enumerate(text.splitlines())
    )
