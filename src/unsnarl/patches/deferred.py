# SPDX-License-Identifier: Apache-2.0
"""Patches of waits in the middle of a critical section: made behind it, or without the lock."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from unsnarl.patches.blocks import (
    DEFINITIONS,
    Function,
    covering,
    executed,
    first_line,
    last_line,
)
from unsnarl.patches.checks import is_waiting
from unsnarl.patches.conflict import Conflict
from unsnarl.patches.expressions import plain_names
from unsnarl.patches.locks import new_name
from unsnarl.patches.pieces import block_of, check_block, led, made, nodes, waiting_lines, whole
from unsnarl.patches.regions import Draft
from unsnarl.patches.source import LineEdits, SourceFile, UnpatchableError, header_text

LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue)
# To do without a lock is the last thing to try.
UNLOCKED = 8


def deferred_waits(conflict: Conflict) -> Iterator[Draft]:
    """`thread = self.thread` under the lock and `thread.join()` behind it, for `self.thread.join()`
    in the middle; and what waits without the lock, where nothing else is done under it."""
    for source, function in led(conflict):
        for node in nodes(function):
            if not isinstance(node, ast.With):
                continue
            lines = waiting_lines(conflict, source, node.lineno, node.body)
            inside = [one for one in executed(node.body) if isinstance(one, ast.stmt)]
            found = [one for one in inside if one.lineno in lines]
            for one in found:
                yield from made(_deferred, source, node, one)
            if found:
                yield from made(_unlocked, source, function, node)


def _deferred(source: SourceFile, held: ast.With, wait: ast.stmt) -> Draft:
    call = wait.value if isinstance(wait, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        raise UnpatchableError("what is waited for is no call of its own")
    if not is_waiting(call) or not isinstance(call.func.value, ast.Attribute):
        raise UnpatchableError("it does not wait for an attribute")
    if ast.unparse(call.func.value) in {ast.unparse(one.context_expr) for one in held.items}:
        raise UnpatchableError("a condition gives up its lock while it waits")
    _check_reached(held, wait)
    name = _local_name(source, call.func.value)
    # What is behind the lock comes after a way past the wait, too.
    always = wait in held.body
    copied = f"{name} = {ast.unparse(call.func.value)}"
    later = f"{name}.{call.func.attr}({', '.join(map(ast.unparse, [*call.args, *call.keywords]))})"
    if not always:
        later = f"if {name} is not None:\n{source.unit}{later}"
    edits = LineEdits(source)
    _replace_line(edits, wait, copied)
    header_text(source, held, "with")
    if not always:
        edits.insert_before(held.lineno, f"{name} = None")
    edits.insert_after(last_line(held), later, like=held.lineno)
    _check(edits, held, wait, ("" if always else f"{name} = None", copied, later))
    says = f"wait for {ast.unparse(call.func.value)} behind the lock of {source.name}:{held.lineno}"
    return whole("move", says, edits, 4)


def _local_name(source: SourceFile, waited: ast.Attribute) -> str:
    return new_name(waited.attr.lstrip("_") or "waited", plain_names(source))


def _check_reached(held: ast.With, wait: ast.stmt) -> None:
    """Raises if something leaves the section between the wait and its end."""
    for one in executed(held.body):
        if isinstance(one, LEAVING) and one.lineno > wait.lineno:
            raise UnpatchableError("the section is left after the wait")
        if isinstance(one, ast.For | ast.While) and wait in list(executed(one.body)):
            raise UnpatchableError("it waits more than once")


def _replace_line(edits: LineEdits, node: ast.stmt, text: str) -> None:
    source = edits.source
    run = covering(source, node.lineno, last_line(node))
    if run.statements != (node,) or run.first != run.last:
        raise UnpatchableError(f"{source.name}:{node.lineno} is not in a line of its own")
    old = source.lines[node.lineno - 1]
    end = old[len(old.rstrip("\r\n")) :]
    edits.change(node.lineno, f"{source.indentation(node.lineno)}{text}{end}")


def _check(edits: LineEdits, held: ast.With, wait: ast.stmt, texts: tuple[str, str, str]) -> None:
    """Raises unless the new text is the old one with these statements before, in and behind."""
    before, copied, later = texts
    source = edits.source
    block = block_of(covering(source, held.lineno, held.lineno))
    inner = block_of(covering(source, wait.lineno, wait.lineno))
    at, inside = block.index(held), inner.index(wait)
    inner[inside] = ast.parse(copied).body[0]
    try:
        wanted = [*ast.parse(before).body, held, *ast.parse(later).body]
        check_block(source, edits, block, [*block[:at], *wanted, *block[at + 1 :]])
    finally:
        inner[inside] = wait


def _unlocked(source: SourceFile, function: Function, held: ast.With) -> Draft:
    """The statements without the lock, if they only call others."""
    if len(held.items) != 1 or held.items[0].optional_vars is not None:
        raise UnpatchableError("more than a lock is entered")
    header_text(source, held, "with")
    for one in executed(held.body):
        stores = isinstance(one, ast.Attribute | ast.Subscript) and not isinstance(
            one.ctx, ast.Load
        )
        if stores or isinstance(one, (*DEFINITIONS, ast.For, ast.While)):
            raise UnpatchableError("more than calls is under the lock")
    block = block_of(covering(source, held.lineno, held.lineno))
    edits = LineEdits(source)
    edits.remove(held.lineno)
    edits.shift(held.lineno + 1, last_line(held), -1)
    at = block.index(held)
    check_block(source, edits, block, [*block[:at], *held.body, *block[at + 1 :]])
    lock = ast.unparse(held.items[0])
    first, last = first_line(held.body[0]), last_line(held)
    says = f"do not hold {lock} in {source.name}:{first}-{last}, which waits ({function.name})"
    return whole("move", says, edits, last - first + 1 + UNLOCKED)
