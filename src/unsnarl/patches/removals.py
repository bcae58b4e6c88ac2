# SPDX-License-Identifier: Apache-2.0
"""Patches of removals that two threads make of the same thing: the later one has nothing to do."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from unsnarl.patches.blocks import StatementRun, covering, executed, first_line, last_line
from unsnarl.patches.conflict import Conflict
from unsnarl.patches.expressions import replace_expressions
from unsnarl.patches.pieces import block_of, check_block, functions, made, nodes, whole
from unsnarl.patches.regions import Draft
from unsnarl.patches.source import LineEdits, SourceFile, UnpatchableError

# What says that somebody else was here before, where a call has no word for "if it is there".
FILES = ("os.remove", "os.unlink")
LOOPS = (ast.For, ast.While, ast.AsyncFor)


class Removal(NamedTuple):
    """A statement that removes something: the same if it is not there any more.

    Attributes:
        text: An expression that does so; "" if there is none.
        error: What the statement raises then; "" where `text` is used.
    """

    text: str = ""
    error: str = ""


def removals(conflict: Conflict) -> Iterator[Draft]:
    """`d.pop(k, None)` for `del d[k]`: both threads want it to be gone, and it is.

    Only where the removal is the end of what is done: who removes something and then counts it
    must be the only one.
    """
    lines = _removed_twice(conflict)
    for source, function in functions(conflict):
        for node in nodes(function):
            if not isinstance(node, ast.Delete | ast.Expr):
                continue
            if (source.name, node.lineno) in lines:
                for removal in _as_removals(node):
                    yield from made(_idempotent, source, node, removal)


def _removed_twice(conflict: Conflict) -> set[tuple[str, int]]:
    """The lines at which threads of two roles change something, or one of them fails."""
    roles: dict[tuple[str, int], set[int]] = {}
    for point in conflict.points:
        if point.op != "read":
            roles.setdefault((point.file, point.line), set()).add(point.role)
    return {line for line, found in roles.items() if len(found) > 1}


def _as_removals(node: ast.Delete | ast.Expr) -> Iterator[Removal]:
    """How the statement can be written, if it removes something; a run shows which one fits."""
    if isinstance(node, ast.Delete):
        target = node.targets[0] if len(node.targets) == 1 else None
        if isinstance(target, ast.Attribute):
            yield Removal(error="AttributeError")
        elif isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice):
            yield Removal(f"{ast.unparse(target.value)}.pop({ast.unparse(target.slice)}, None)")
        return
    call = node.value
    if not isinstance(call, ast.Call) or call.keywords:
        return
    name = ast.unparse(call.func)
    if name in FILES:
        yield Removal(error="FileNotFoundError")
    elif name == "delattr":
        yield Removal(error="AttributeError")
    elif isinstance(call.func, ast.Attribute) and len(call.args) == 1:
        owner, argument = ast.unparse(call.func.value), ast.unparse(call.args[0])
        if call.func.attr == "pop":
            yield Removal(f"{owner}.pop({argument}, None)")
        elif call.func.attr == "remove":
            yield Removal(f"{owner}.discard({argument})")
            yield Removal(error="ValueError")
    elif isinstance(call.func, ast.Attribute) and call.func.attr == "unlink" and not call.args:
        yield Removal(f"{ast.unparse(call.func.value)}.unlink(missing_ok=True)")


def _idempotent(source: SourceFile, node: ast.Delete | ast.Expr, removal: Removal) -> Draft:
    run = covering(source, node.lineno, node.lineno)
    if run.statements != (node,):
        raise UnpatchableError(f"{source.name}:{node.lineno} is not one statement")
    _check_last(run)
    _check_unused(run, node)
    edits = LineEdits(source)
    if removal.error:
        new = _suppressed(edits, run, removal.error)
    else:
        new = _replaced(edits, node, removal.text)
    block = block_of(run)
    at = block.index(node)
    check_block(source, edits, block, [*block[:at], *ast.parse(new).body, *block[at + 1 :]])
    says = f"remove at {source.name}:{run.first} what another thread may have removed"
    return whole("removal", says, edits, 1)


def _check_last(run: StatementRun) -> None:
    """Raises if something else is done to shared data with the removal or after it."""
    if run.function is None:
        raise UnpatchableError("a module is executed once")
    for node in executed(run.function.body):
        if isinstance(node, ast.AugAssign) and not isinstance(node.target, ast.Name):
            raise UnpatchableError("what is removed is counted")
    for statement in _later(run):
        for node in executed([statement]):
            if _has_effect(node) and node not in run.statements:
                raise UnpatchableError("more is done after the removal")


def _check_unused(run: StatementRun, node: ast.Delete | ast.Expr) -> None:
    """Raises if the same thing is used there: that fails, too, and more rarely.

    `if key in d: use(d[key]); del d[key]` survived 200 runs with a removal that may come second.
    """
    assert run.function is not None
    parts = _parts(node)
    for one in executed(run.function.body):
        used = _parts_of(one)
        if used is not None and used == parts and one not in executed([node]):
            raise UnpatchableError("what is removed is used there")


def _parts(node: ast.Delete | ast.Expr) -> tuple[str, str] | None:
    """What a removal removes, and of what: `d` and `k` of `del d[k]`, of `d.pop(k)`."""
    if isinstance(node, ast.Delete):
        return _parts_of(node.targets[0])
    call = node.value
    if not isinstance(call, ast.Call):
        return None
    if ast.unparse(call.func) == "delattr" and len(call.args) == 2:
        return ast.unparse(call.args[0]), ast.unparse(call.args[1])
    if isinstance(call.func, ast.Attribute) and len(call.args) == 1:
        return ast.unparse(call.func.value), ast.unparse(call.args[0])
    return None


def _parts_of(node: ast.AST) -> tuple[str, str] | None:
    if isinstance(node, ast.Subscript):
        return ast.unparse(node.value), ast.unparse(node.slice)
    if isinstance(node, ast.Attribute):
        return ast.unparse(node.value), node.attr
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "getattr" and len(node.args) == 2:
        return ast.unparse(node.args[0]), ast.unparse(node.args[1])
    return None


def _later(run: StatementRun) -> Iterator[ast.stmt]:
    """What is executed behind the run in its function; all of a loop that it is in."""
    inner: ast.AST = run.statements[0]
    for around in reversed(run.around[run.around.index(run.function) :]):
        if isinstance(around, LOOPS):
            yield from around.body
        else:
            bodies = (getattr(around, name, None) for name in ("body", "orelse", "finalbody"))
            for body in bodies:
                if isinstance(body, list) and inner in body:
                    yield from body[body.index(inner) + 1 :]
        inner = around


def _has_effect(node: ast.AST) -> bool:
    """Whether a node changes something other than a local variable, or calls for the effect."""
    if isinstance(node, ast.Attribute | ast.Subscript):
        return not isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call)
    return isinstance(node, ast.Raise | ast.Delete)


def _suppressed(edits: LineEdits, run: StatementRun, error: str) -> str:
    source = edits.source
    edits.wrap(run.first, run.last, "try:")
    edits.insert_after(run.last, f"except {error}:", like=run.first)
    edits.insert_after(run.last, f"{source.unit}pass", like=run.first)
    return f"try:\n    {ast.unparse(run.statements[0])}\nexcept {error}:\n    pass"


def _replaced(edits: LineEdits, node: ast.Delete | ast.Expr, text: str) -> str:
    if isinstance(node, ast.Expr):
        replace_expressions(edits, [node.value], text=text)
        return text
    if first_line(node) != last_line(node):
        raise UnpatchableError("the statement has several lines")
    line = edits.source.lines[node.lineno - 1].encode()
    end = node.end_col_offset or 0
    edits.change(node.lineno, (line[: node.col_offset] + text.encode() + line[end:]).decode())
    return text
