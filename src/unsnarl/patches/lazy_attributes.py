# SPDX-License-Identifier: Apache-2.0
"""Patches of `__getattr__`: what was missing when it was called may be there by now."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from unsnarl.patches.blocks import Function, covering
from unsnarl.patches.conflict import Conflict
from unsnarl.patches.locks import self_name
from unsnarl.patches.pieces import block_of, check_block, functions, made, nodes, whole
from unsnarl.patches.regions import Draft
from unsnarl.patches.source import LineEdits, SourceFile, UnpatchableError

HOOK = "__getattr__"


def late_attributes(conflict: Conflict) -> Iterator[Draft]:
    """`return super().__getattribute__(name)` for `raise AttributeError(name)`.

    The interpreter has looked for the attribute before it calls `__getattr__`; another thread that
    came first has set it since. If it is still missing, the same exception comes of it.
    """
    for source, function in functions(conflict):
        for owner in source.nodes:
            if isinstance(owner, ast.ClassDef) and _is_hook(owner, function):
                for node in nodes(function):
                    if isinstance(node, ast.Raise):
                        yield from made(_looked_up, source, function, node)


def _is_hook(owner: ast.ClassDef, function: Function) -> bool:
    """Whether it is called for attributes of the class that are missing, maybe by another name."""
    if function not in owner.body:
        return False
    others = [
        ast.unparse(one.value)
        for one in owner.body
        if isinstance(one, ast.Assign) and HOOK in map(ast.unparse, one.targets)
    ]
    return function.name == HOOK or function.name in others


def _looked_up(source: SourceFile, function: Function, node: ast.Raise) -> Draft:
    arguments = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    if len(arguments) < 2 or not _sets(function, *arguments[:2]):
        raise UnpatchableError("it sets no attribute that it is asked for")
    error = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    if error is None or ast.unparse(error) != "AttributeError":
        raise UnpatchableError("it says something else")
    run = covering(source, node.lineno, node.lineno)
    if run.statements != (node,) or run.first != run.last:
        raise UnpatchableError("it is not in a line of its own")
    text = f"return super().__getattribute__({arguments[1]})"
    edits = LineEdits(source)
    end = source.lines[run.first - 1]
    end = end[len(end.rstrip("\r\n")) :]
    edits.change(run.first, f"{source.indentation(run.first)}{text}{end}")
    block = block_of(run)
    at = block.index(node)
    check_block(source, edits, block, [*block[:at], *ast.parse(text).body, *block[at + 1 :]])
    says = f"look for the attribute once more at {source.name}:{run.first}"
    return whole("recheck", says, edits, 1)


def _sets(function: Function, me: str, name: str) -> bool:
    """Whether the function sets the attribute that it is called for, so that it is called once."""
    if me != self_name(function):
        return False
    stored = [
        ast.unparse(node)
        for node in nodes(function)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    ]
    called = [
        [ast.unparse(one) for one in node.args[:2]]
        for node in nodes(function)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "setattr"
    ]
    ways = {f"{me}.__dict__[{name}]", f"vars({me})[{name}]"}
    return [me, name] in called or not ways.isdisjoint(stored)
