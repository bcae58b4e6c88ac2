# SPDX-License-Identifier: Apache-2.0
"""Patches that announce later: an announcement behind the work that it is about."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from itertools import combinations

from unsnarl.model.report import FindingPoint
from unsnarl.patches.blocks import (
    DEFINITIONS,
    LineSpan,
    blocks_of,
    covering,
    executed,
    first_line,
    last_line,
)
from unsnarl.patches.conflict import MODULE_CODE, Conflict, frames, function_named, whole_name
from unsnarl.patches.locks import self_name
from unsnarl.patches.moves import LEAVING, PUBLISHED, SIMPLE, check_unrelated
from unsnarl.patches.pieces import block_of, check_block, made, whole
from unsnarl.patches.regions import Draft
from unsnarl.patches.source import LineEdits, SourceFile, UnpatchableError

# What announces something: to one thread, to all that wait, or only to some.
ANNOUNCING = (*SIMPLE, ast.For, ast.If)
# These need more than an order.
ATOMIC = ("lost update", "check-then-act", "changed while iterated")
SET = ".set()"
# What lets those who wait that something has happened.
ANNOUNCERS = ("set_exception", "set_result", "set", "notify", "notify_all", "task_done")
QUIET = ("read", "acquire", "wait")


def announced_last(conflict: Conflict) -> Iterator[Draft]:
    """A statement of one thread behind a later one, where another thread came in between.

    What they lead to is what counts: `future.set_exception(e)` writes in another package.
    """
    seen: set[tuple[LineSpan, LineSpan]] = set()
    shown = (pair for both in _interrupted(conflict) for pair in _common_lines(*both))
    for pair in (*shown, *_unseen(conflict)):
        if pair not in seen:
            seen.add(pair)
            source = conflict.sources.get(pair[0].file)
            if source is not None:
                yield from made(_announced, source, pair[0].first, pair[1].first)


def _interrupted(conflict: Conflict) -> Iterator[tuple[FindingPoint, FindingPoint]]:
    """Two points of a role about different things, with another role's between them."""
    if not _is_order(conflict):
        return
    for (at, early), (to, late) in combinations(enumerate(conflict.points), 2):
        between = {one.role for one in conflict.points[at + 1 : to]} - {early.role}
        if early.role != late.role or not between or early.op in QUIET:
            continue
        if not early.variable or whole_name(early) != whole_name(late):
            yield early, late


def _is_order(conflict: Conflict) -> bool:
    """Whether it can be repaired by an order: an order makes nothing atomic."""
    finding = conflict.finding
    is_order = finding.kind == "order" or (finding.fix is not None and finding.fix.kind == "order")
    return finding.shape not in ATOMIC and (is_order or finding.shape == PUBLISHED)


def _unseen(conflict: Conflict) -> Iterator[tuple[LineSpan, LineSpan]]:
    """What announces something before a statement that led to a write which came too late.

    An order of two accesses says that one came too late, and not what was announced too early.
    """
    late = [one for one in conflict.points if one.op == "write"] if _is_order(conflict) else []
    for frame in dict.fromkeys(frame for one in late for frame in frames(one)):
        source = conflict.sources.get(frame.file)
        function = function_named(source, frame.function) if source is not None else None
        for node in executed(function.body) if function is not None else ():
            called = node.func if isinstance(node, ast.Call) else None
            announces = isinstance(called, ast.Attribute) and called.attr in ANNOUNCERS
            if called is not None and announces and called.lineno < frame.line:
                yield (
                    LineSpan(frame.file, called.lineno, called.lineno),
                    LineSpan(frame.file, frame.line, frame.line),
                )


def _common_lines(early: FindingPoint, late: FindingPoint) -> Iterator[tuple[LineSpan, LineSpan]]:
    """In the innermost function that led to both: the line of each."""
    for frame in frames(early):
        for other in frames(late):
            same = (frame.file, frame.function) == (other.file, other.function)
            if same and frame.function != MODULE_CODE and frame.line < other.line:
                yield (
                    LineSpan(frame.file, frame.line, frame.line),
                    LineSpan(other.file, other.line, other.line),
                )
                return


def announced_twice(conflict: Conflict) -> Iterator[Draft]:
    """`event.set()` once more behind the statement that changes what it announces.

    Where that statement calls what sets the event, the event comes first: whoever it wakes looks
    at the old value, and waits once more.
    """
    for at, early in enumerate(conflict.points):
        if early.part != SET and SET not in early.text:
            continue
        for late in conflict.points[at + 1 :]:
            if late.role == early.role and late.op == "write":
                yield from made(_twice, conflict, early, late)


def _twice(conflict: Conflict, early: FindingPoint, late: FindingPoint) -> Draft:
    inner = covering(conflict.sources[early.file], early.line, early.line)
    source = conflict.sources[late.file]
    run = covering(source, late.line, late.line)
    (change,) = run.statements
    (call,) = inner.statements
    text = ast.unparse(call)
    if inner.function is None or run.function is None or inner.owner is not run.owner:
        raise UnpatchableError("it is announced by another object")
    own = self_name(inner.function)
    if not text.endswith(SET) or not own or not text.startswith(f"{own}."):
        raise UnpatchableError(f"{source.name}:{early.line} sets no event of the object")
    called = {ast.unparse(one.func) for one in executed([change]) if isinstance(one, ast.Call)}
    if not isinstance(change, ast.Assign) or f"{own}.{inner.function.name}" not in called:
        raise UnpatchableError(f"{source.name}:{late.line} does not call what sets it")
    edits = LineEdits(source)
    edits.insert_after(last_line(change), text, like=change.lineno)
    block = block_of(run)
    at = block.index(change) + 1
    check_block(source, edits, block, [*block[:at], *ast.parse(text).body, *block[at:]])
    return whole("event", f"{text} once more behind {source.name}:{last_line(change)}", edits, 1)


def _announced(source: SourceFile, line: int, until: int) -> Draft:
    """The statement with the one line behind the statement with the other.

    Where something between them leaves, it is made before that.
    """
    run = covering(source, line, until)
    moved_one, *passed = run.statements
    if not passed or not isinstance(moved_one, ANNOUNCING):
        raise UnpatchableError(f"{source.name}:{line} cannot move behind :{until}")
    if any(isinstance(one, LEAVING) for one in executed([moved_one])):
        raise UnpatchableError(f"{source.name}:{line} may leave the function")
    if isinstance(passed[-1], LEAVING):
        raise UnpatchableError(f"{source.name}:{line} would be left out")
    check_unrelated(source, moved_one, passed)
    edits = LineEdits(source)
    block = block_of(run)
    first = _with_comment(source, moved_one)
    ways_out = list(leaving(passed))
    for one in ways_out:
        _announce_before(edits, moved_one, one)
    edits.move(first, last_line(moved_one), last_line(passed[-1]))
    at = block.index(moved_one)
    with_copies = _Before(moved_one, ways_out)
    moved = [with_copies.changed(one) for one in passed]
    check_block(
        source, edits, block, [*block[:at], *moved, moved_one, *block[at + len(passed) + 1 :]]
    )
    says = f"move {source.name}:{moved_one.lineno} behind :{last_line(passed[-1])}"
    says += f", and before :{', :'.join(str(one.lineno) for one in ways_out)}" if ways_out else ""
    return whole("move", says, edits, 2 * (last_line(moved_one) - first + 1) + len(ways_out))


def leaving(statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """What leaves the statements; a loop of their own is not left by `break`."""
    for node in statements:
        if isinstance(node, LEAVING):
            yield node
        for block in () if isinstance(node, DEFINITIONS) else blocks_of(node):
            inner = isinstance(node, ast.For | ast.While) and block is node.body
            for one in leaving(block):
                if not inner or not isinstance(one, ast.Break | ast.Continue):
                    yield one


def _announce_before(edits: LineEdits, moved_one: ast.stmt, leaving: ast.stmt) -> None:
    """A copy of the announcement in the line before."""
    source = edits.source
    if first_line(moved_one) != last_line(moved_one) or isinstance(leaving, ast.Raise | ast.Assert):
        raise UnpatchableError("it cannot be announced before what leaves")
    if source.lines[leaving.lineno - 1].encode()[: leaving.col_offset].strip():
        raise UnpatchableError("what leaves is not in a line of its own")
    edits.insert_before(leaving.lineno, source.lines[moved_one.lineno - 1].strip())


class _Before(ast.NodeTransformer):
    """Puts a statement before others, wherever these are."""

    def __init__(self, added: ast.stmt, others: Sequence[ast.stmt]) -> None:
        self._added = added
        self._others = [(one.lineno, one.col_offset) for one in others]

    def changed(self, node: ast.stmt) -> ast.stmt:
        """A copy of the statement with what was added."""
        if not self._others:
            return node
        changed: ast.stmt = self.visit(copy.deepcopy(node))
        return changed

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for block in blocks_of(node):
            found: list[ast.stmt] = []
            for one in block:
                if (one.lineno, one.col_offset) in self._others:
                    found.append(self._added)
                found.append(self.visit(one))
            block[:] = found
        return node


def _with_comment(source: SourceFile, node: ast.stmt) -> int:
    """The first line of a statement, with a comment of its own above it."""
    first = first_line(node)
    above = first - 1
    blank = source.indentation(first)
    while above > 0 and source.lines[above - 1].startswith(f"{blank}#"):
        above -= 1
    is_own = above == 0 or not source.lines[above - 1].strip()
    return above + 1 if is_own else first
