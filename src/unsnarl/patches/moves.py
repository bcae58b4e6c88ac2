# SPDX-License-Identifier: Apache-2.0
"""Patches that move statements: what publishes an object behind what completes it, a registration
behind the definitions that it needs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from unsnarl.model.report import FindingPoint
from unsnarl.patches.blocks import (
    Function,
    StatementRun,
    covering,
    executed,
    first_line,
    last_line,
)
from unsnarl.patches.conflict import MODULE_CODE, Conflict
from unsnarl.patches.locks import self_name
from unsnarl.patches.pieces import (
    block_of,
    check_block,
    made,
    names_in,
    whole,
)
from unsnarl.patches.regions import Draft
from unsnarl.patches.source import LineEdits, SourceFile, UnpatchableError

PUBLISHED = "published before initialised"
WRITES = ("write", "call")
SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)
LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue, ast.Assert)


# Published last.


def published_last(conflict: Conflict) -> Iterator[Draft]:
    """A write, or a call, moved behind the writes that belong to it.

    Only for what was published too early: an order makes nothing atomic.
    """
    if conflict.finding.shape != PUBLISHED:
        return
    seen = set()
    for point in conflict.points:
        source = conflict.sources.get(point.file)
        if source is None or point.op not in WRITES or (point.file, point.line) in seen:
            continue
        seen.add((point.file, point.line))
        if point.function == MODULE_CODE:
            yield from made(_undecorated, source, point.line)
        yield from made(_behind_role, source, conflict, point)
        yield from made(_behind_block, source, point.line)


def registered_last(conflict: Conflict) -> Iterator[Draft]:
    """What hands out a function or class of a module before the module has defined what it uses."""
    for late in conflict.points:
        source = conflict.sources.get(late.file)
        if source is None or late.function != MODULE_CODE or late.op not in WRITES:
            continue
        used = {one.function.partition(".")[0] for one in conflict.points if one.file == late.file}
        for node in source.tree.body:
            if first_line(node) >= late.line:
                break
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                decorated = node.name in used and node.decorator_list
                yield from made(_undecorated, source, first_line(node)) if decorated else ()
            elif isinstance(node, ast.Expr) and names_in(node) & used:
                yield from made(_behind_block, source, node.lineno)


def started_last(conflict: Conflict) -> Iterator[Draft]:
    """A thread is started behind the assignment that it may not be without."""
    if conflict.finding.shape != PUBLISHED:
        return
    for point in conflict.points:
        source = conflict.sources.get(point.file)
        if source is not None and point.op == "write":
            yield from made(_started_behind, source, point.line)


def _started_behind(source: SourceFile, line: int) -> Draft:
    run, block = _movable(source, line)
    (late,) = run.statements
    starts = [one for one in block[: block.index(late)] if _starts_thread(one)]
    if not starts:
        raise UnpatchableError(f"no thread is started before {source.name}:{line}")
    start = starts[-1]
    return _moved(source, covering(source, start.lineno, start.lineno), block, late)


def _starts_thread(node: ast.stmt) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and ast.unparse(call.func).endswith((".start", ".submit"))


def set_before_start(conflict: Conflict) -> Iterator[Draft]:
    """A constant that a thread assigns when it begins, assigned by whoever starts the thread.

    What others have assigned since then is not undone.
    """
    for point in conflict.points:
        source = conflict.sources.get(point.file)
        if source is not None and point.op == "write" and point.function != MODULE_CODE:
            yield from made(_before_start, source, point.line)


def _before_start(source: SourceFile, line: int) -> Draft:
    run, _ = _movable(source, line)
    (node,) = run.statements
    function, owner = run.function, run.owner
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Constant):
        raise UnpatchableError("it is not a constant")
    if function is None or owner is None or node not in function.body or run.first != run.last:
        raise UnpatchableError("it is not in a line of a method")
    check_independent(source, node, function.body[: function.body.index(node)])
    start = _start_of(owner, function.name)
    block = block_of(covering(source, start.lineno, start.lineno))
    edits = LineEdits(source)
    text = source.lines[run.first - 1].strip()
    edits.insert_before(first_line(start), text, like=start.lineno)
    edits.remove(run.first)
    old = list(function.body)
    function.body[:] = [one for one in old if one is not node] or [ast.Pass()]
    try:
        at = block.index(start)
        check_block(source, edits, block, [*block[:at], node, *block[at:]])
    finally:
        function.body[:] = old
    says = f"move {source.name}:{run.first} to {start.lineno}, before its thread is started"
    return whole("move", says, edits, 2)


def _start_of(owner: ast.ClassDef, target: str) -> ast.stmt:
    """The statement of a class that starts a thread with this method."""
    for method in (one for one in owner.body if isinstance(one, Function)):
        made_there = any(
            isinstance(one, ast.keyword)
            and one.arg == "target"
            and ast.unparse(one.value) == f"{self_name(method)}.{target}"
            for one in executed(method.body)
        )
        for one in executed(method.body) if made_there else ():
            call = one.value if isinstance(one, ast.Expr) else None
            if isinstance(call, ast.Call) and ast.unparse(call.func).endswith(".start"):
                assert isinstance(one, ast.stmt)
                return one
    raise UnpatchableError("its thread is started elsewhere")


def _behind_role(source: SourceFile, conflict: Conflict, point: FindingPoint) -> Draft:
    """Behind the last statement of the block that has another point of the same role."""
    run, block = _movable(source, point.line)
    lines = [
        one.line
        for one in conflict.points
        if (one.file, one.function, one.role) == (point.file, point.function, point.role)
    ]
    later = [
        one
        for one in block
        if first_line(one) > run.last
        and any(first_line(one) <= line <= last_line(one) for line in lines)
    ]
    if not later:
        raise UnpatchableError("nothing of the same thread comes later")
    return _moved(source, run, block, later[-1])


def _behind_block(source: SourceFile, line: int) -> Draft:
    """To the end of its block, before the statement that leaves it."""
    run, block = _movable(source, line)
    later = [one for one in block if first_line(one) > run.last and not isinstance(one, LEAVING)]
    if run.function is None:
        later = [one for one in later if not _is_main(one)]
    if not later:
        raise UnpatchableError("it is at the end of its block")
    return _moved(source, run, block, later[-1])


def _is_main(node: ast.stmt) -> bool:
    """`if __name__ == "__main__":`"""
    return isinstance(node, ast.If) and "__name__" in names_in(node.test)


def _movable(source: SourceFile, line: int) -> tuple[StatementRun, list[ast.stmt]]:
    """The one simple statement of a line, and its block."""
    run = covering(source, line, line)
    if len(run.statements) != 1 or not isinstance(run.statements[0], SIMPLE):
        raise UnpatchableError(f"{source.name}:{line} is not one simple statement")
    return run, block_of(run)


def _moved(source: SourceFile, run: StatementRun, block: list[ast.stmt], behind: ast.stmt) -> Draft:
    (statement,) = run.statements
    first, last = block.index(statement), block.index(behind)
    passed = block[first + 1 : last + 1]
    check_independent(source, statement, passed)
    edits = LineEdits(source)
    edits.move(run.first, run.last, last_line(behind))
    wanted = [*block[:first], *passed, statement, *block[last + 1 :]]
    check_block(source, edits, block, wanted)
    says = f"move {source.name}:{run.first} behind :{last_line(behind)}"
    return whole("move", says, edits, 2 * (run.last - run.first + 1))


def check_unrelated(source: SourceFile, moved: ast.stmt, passed: list[ast.stmt]) -> None:
    """Raises if what it assigns is read there, or what it reads is assigned there."""
    stored = named_in([moved], ast.Store)
    loaded = named_in([moved], ast.Load)
    if stored & named_in(passed, ast.Load) or loaded & named_in(passed, ast.Store):
        raise UnpatchableError(f"{source.name}:{moved.lineno} cannot move: others depend on it")


def check_independent(source: SourceFile, moved: ast.stmt, passed: list[ast.stmt]) -> None:
    """The same; and raises if something leaves there."""
    check_unrelated(source, moved, passed)
    if any(isinstance(one, LEAVING) for one in executed(passed)):
        raise UnpatchableError(f"{source.name}:{moved.lineno} would be left out at times")


def named_in(statements: list[ast.stmt], context: type[ast.expr_context]) -> set[str]:
    """The variables and attributes, as text, that statements read or assign."""
    found = [
        one
        for one in executed(statements)
        if isinstance(one, ast.Name | ast.Attribute) and isinstance(one.ctx, context)
    ]
    return {ast.unparse(one) for one in found}


def _undecorated(source: SourceFile, line: int) -> Draft:
    """`Finder = install(Finder)` at the end of the module, instead of `@install`."""
    run = covering(source, line, line)
    node = run.statements[0]
    if run.function is not None or not isinstance(node, ast.ClassDef | ast.FunctionDef):
        raise UnpatchableError(f"{source.name}:{line} is no decorator of the module")
    if not node.decorator_list or len(run.statements) != 1:
        raise UnpatchableError(f"{source.name}:{line} is no decorator of the module")
    outer = node.decorator_list[0]
    block = block_of(run)
    later = [one for one in block[block.index(node) + 1 :] if not _is_main(one)]
    if not later or not isinstance(run.around[-1], ast.Module):
        raise UnpatchableError(f"{source.name}:{line} is at the end of the module")
    edits = LineEdits(source)
    for number in range(outer.lineno, (outer.end_lineno or outer.lineno) + 1):
        edits.remove(number)
    text = f"{node.name} = {ast.unparse(outer)}({node.name})"
    end = last_line(later[-1])
    edits.insert_after(end, f"\n\n{text}", like=later[-1].lineno)
    decorators, node.decorator_list = node.decorator_list, node.decorator_list[1:]
    try:
        at = block.index(later[-1]) + 1
        check_block(source, edits, block, [*block[:at], *ast.parse(text).body, *block[at:]])
    finally:
        node.decorator_list = decorators
    says = f"call {ast.unparse(outer)} of {source.name}:{line} when the module is complete"
    return whole("move", says, edits, 2)
