# SPDX-License-Identifier: Apache-2.0
"""Patches of entries that two threads make: the first one stays, and both get it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from unsnarl.patches.blocks import Function, covering, executed
from unsnarl.patches.conflict import Conflict
from unsnarl.patches.locks import is_lock_made, plain_name
from unsnarl.patches.pieces import block_of, check_block, functions, made, names_in, nodes, whole
from unsnarl.patches.regions import Draft
from unsnarl.patches.source import LineEdits, SourceFile, UnpatchableError

LOOKED_AT = "check-then-act"
# Both threads still do the work: a lock that can be held comes first.
SIZE = 14


def first_wins(conflict: Conflict) -> Iterator[Draft]:
    """`value = d.setdefault(k, value)` for `d[k] = value`, where somebody looked before.

    What makes the value is under no lock, so it may wait.
    """
    yield from _first_lock(conflict)
    if conflict.finding.shape != LOOKED_AT:
        return
    lines = {(one.file, one.line) for one in conflict.points if one.op != "read"}
    for source, function in functions(conflict):
        for node in nodes(function):
            if isinstance(node, ast.Assign) and (source.name, node.lineno) in lines:
                yield from made(_kept, source, function, node, conflict.at_fault)


def _first_lock(conflict: Conflict) -> Iterator[Draft]:
    """The same of a lock that is made when it is first needed, where threads held two of them."""
    held = {lock for point in conflict.points for lock in point.locks}
    if len({plain_name(lock) for lock in held}) == len(held):
        return
    for source, function in functions(conflict):
        for node in nodes(function):
            if isinstance(node, ast.Assign) and is_lock_made(node.value):
                yield from made(_kept_lock, source, function, node)


def _kept_lock(source: SourceFile, function: Function, node: ast.Assign) -> Draft:
    *names, target = sorted(node.targets, key=lambda one: isinstance(one, ast.Subscript))
    if not isinstance(target, ast.Subscript) or len(names) > 1:
        raise UnpatchableError("no entry is made")
    result = names[0].id if names and isinstance(names[0], ast.Name) else ""
    if names and not result:
        raise UnpatchableError("it is not kept in a variable")
    return _set_default(source, function, node, target, result=result, size=1)


def _kept(
    source: SourceFile, function: Function, node: ast.Assign, at_fault: frozenset[str]
) -> Draft:
    target = node.targets[0]
    if len(node.targets) != 1 or not isinstance(target, ast.Subscript):
        raise UnpatchableError("no entry is made")
    if not names_in(target.value) & at_fault:
        raise UnpatchableError("no entry is made")
    result = node.value.id if isinstance(node.value, ast.Name) else ""
    return _set_default(source, function, node, target, result=result, size=SIZE)


def _set_default(
    source: SourceFile,
    function: Function,
    node: ast.Assign,
    target: ast.Subscript,
    *,
    result: str,
    size: int,
) -> Draft:
    """`result` is the variable that has the entry afterwards, if there is one."""
    if isinstance(target.slice, ast.Slice):
        raise UnpatchableError("no entry is made")
    entry = ast.unparse(target)
    if not _is_looked_at(function, target):
        raise UnpatchableError(f"nobody looks whether there is {entry}")
    kept = f"{ast.unparse(target.value)}.setdefault({ast.unparse(target.slice)}, "
    text = f"{result} = " * bool(result) + f"{kept}{ast.unparse(node.value)})"
    run = covering(source, node.lineno, node.lineno)
    if run.statements != (node,) or run.first != run.last:
        raise UnpatchableError(f"{source.name}:{node.lineno} is not in a line of its own")
    old = source.lines[node.lineno - 1]
    if "#" in old:
        raise UnpatchableError("the line has a comment")
    edits = LineEdits(source)
    end = old[len(old.rstrip("\r\n")) :]
    edits.change(node.lineno, f"{source.indentation(node.lineno)}{text}{end}")
    block = block_of(run)
    at = block.index(node)
    check_block(source, edits, block, [*block[:at], *ast.parse(text).body, *block[at + 1 :]])
    says = f"keep the first {entry} that is made at {source.name}:{node.lineno}"
    return whole("setdefault", says, edits, size)


def _is_looked_at(function: Function, target: ast.Subscript) -> bool:
    """Whether the function asks for this entry as well."""
    entry = ast.unparse(target.value), ast.unparse(target.slice)
    return any(_asked(one) == entry for one in executed(function.body))


def _asked(node: ast.AST) -> tuple[str, str] | None:
    """`d` and `k` of `k in d`, `d.get(k)`, `d[k]`."""
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
        return ast.unparse(node.comparators[0]), ast.unparse(node.left)
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        return ast.unparse(node.value), ast.unparse(node.slice)
    called = node.func if isinstance(node, ast.Call) and node.args else None
    if isinstance(called, ast.Attribute) and isinstance(node, ast.Call) and called.attr == "get":
        return ast.unparse(called.value), ast.unparse(node.args[0])
    return None
