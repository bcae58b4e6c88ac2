# SPDX-License-Identifier: Apache-2.0
"""Deadlocks on a lock that is borrowed from another object: the variables of a call get their own.

with source.lock:            lock = threading.RLock()     # where `values` is made
    values[i] = x      ->    with lock:
    publish(values)              values[i] = x
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from unsnarl.patches.births import bear
from unsnarl.patches.blocks import Function, StatementRun, covering, executed
from unsnarl.patches.checks import same_but_for
from unsnarl.patches.conflict import Conflict
from unsnarl.patches.expressions import plain_names
from unsnarl.patches.locks import LockChoice, bound, new_name
from unsnarl.patches.pieces import made, whole
from unsnarl.patches.regions import Draft
from unsnarl.patches.source import LineEdits, SourceFile, UnpatchableError, changed_header

# A call of a call of a call: further away than a reader would look.
DEEP = 3


def own_locks(conflict: Conflict) -> Iterator[Draft]:
    """A new lock in the place of another object's, where all that it guards are local variables."""
    for point in conflict.points:
        source = conflict.sources.get(point.file)
        if source is not None and point.op == "acquire":
            yield from made(_own, source, point.line)


def _own(source: SourceFile, line: int) -> Draft:
    run = covering(source, line, line)
    node = run.statements[0]
    if not isinstance(node, ast.With) or node.lineno != line or len(node.items) != 1:
        raise UnpatchableError("no lock is taken there")
    lock = node.items[0].context_expr
    if not isinstance(lock, ast.Attribute) or node.items[0].optional_vars is not None:
        raise UnpatchableError("it is nobody's lock")
    home = _home(run, node)
    held = [one for one in ast.walk(home) if _takes(one, lock)]
    every = (one for one in ast.walk(home) if isinstance(one, ast.Attribute))
    uses = [one for one in every if ast.unparse(one) == ast.unparse(lock)]
    if len(uses) != len(held):
        raise UnpatchableError("it is used otherwise, too")
    guarded: set[str] = set()
    for one in held:
        guarded |= _changed(home, one.body, DEEP)
    inner = _names_within(home)
    if not guarded or not guarded <= inner or _root(lock) in inner:
        raise UnpatchableError("it guards what others have")
    choice = LockChoice(
        "", new_name("lock", plain_names(source)), source.name, is_new=True, within=home.lineno
    )
    edits = LineEdits(source)
    added = bear(choice, edits, {}, "RLock", frozenset(guarded))
    for one in held:
        edits.change(one.lineno, changed_header(source, one.lineno, f"with {choice.name}:"))
    headers = [f"with {ast.unparse(lock)}:", f"with {choice.name}:"]
    same_but_for(source, edits.text(), [*added, *headers])
    says = f"a lock of its own for {source.name}:{line}, instead of {ast.unparse(lock)}"
    return whole("lock-order", says, edits, 1 + len(held))


def _home(run: StatementRun, node: ast.With) -> Function:
    """The innermost function around that makes what is changed under the lock."""
    around = [one for one in run.around if isinstance(one, Function)]
    for function in reversed(around[:-1]):
        if _changed(function, node.body, DEEP) & bound(function.body):
            return function
    raise UnpatchableError("no function around makes what is changed there")


def _takes(node: ast.AST, lock: ast.expr) -> TypeGuard[ast.With]:
    return (
        isinstance(node, ast.With)
        and len(node.items) == 1
        and ast.unparse(node.items[0]) == ast.unparse(lock)
    )


def _changed(home: Function, statements: list[ast.stmt], deep: int) -> set[str]:
    """The variables that statements change, or functions within the same one that they call.

    Nobody knows whether a method changes its object; of what is handed in it does not count.
    """
    handed = {one.arg for one in (*home.args.args, *home.args.kwonlyargs)}
    found: set[str] = set()
    for node in executed(statements):
        if isinstance(node, ast.Attribute | ast.Subscript | ast.Name):
            if isinstance(node.ctx, ast.Store | ast.Del):
                found.add(_root(node))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            found |= {_root(node.func)} - handed
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and deep:
            for one in ast.walk(home):
                if isinstance(one, Function) and one.name == node.func.id:
                    found |= _changed(home, one.body, deep - 1)
    return found


def _root(node: ast.expr) -> str:
    """The name that an expression begins with; "" for what has none."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _names_within(home: Function) -> set[str]:
    """The local variables of a function and of those within it."""
    inner = [one for one in ast.walk(home) if isinstance(one, Function)]
    names = {name for one in inner for name in bound(one.body)}
    arguments = (one for function in inner[1:] for one in function.args.args)
    return names | {one.arg for one in arguments}
