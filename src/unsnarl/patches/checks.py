# SPDX-License-Identifier: Apache-2.0
"""What must hold of every patch before it is run: it compiles, and only the wanted part changed."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

from unsnarl.patches.blocks import blocks_of, executed
from unsnarl.patches.source import SourceFile, UnpatchableError

# Methods that wait for other threads; a lock held meanwhile invites a deadlock.
WAITING = frozenset(
    {"wait", "result", "sleep", "shutdown", "recv", "accept", "select", "communicate"}
)
# These wait without arguments: `thread.join()`, `queue.get()`; with some they are text and dicts.
WAITING_BARE = frozenset({"join", "get"})

# Statements in which a call that waits can be replaced by what it gave before.
HOISTING = (ast.Assign, ast.AugAssign, ast.Return)


def check_holdable(
    statements: tuple[ast.stmt, ...],
    name: str,
    lock: str = "",
    hoisted: Collection[ast.Call] = (),
) -> None:
    """Raises if a lock must not be held around these statements, but for calls made before it."""
    for node in executed(statements):
        if node in hoisted:
            continue
        if isinstance(node, ast.Yield | ast.YieldFrom | ast.Await | ast.AsyncFor | ast.AsyncWith):
            raise UnpatchableError(f"{name}: a lock would be held across a yield or await")
        if isinstance(node, ast.Call) and is_waiting(node, lock):
            raise UnpatchableError(f"{name}: a lock would be held around {ast.unparse(node)}")


def is_waiting(call: ast.Call, lock: str = "") -> bool:
    """Whether a call waits for somebody; a condition gives up its own lock meanwhile."""
    if isinstance(call.func, ast.Name):
        return call.func.id in ("sleep", "input")
    if not isinstance(call.func, ast.Attribute):
        return False
    name = call.func.attr
    if name == "wait" and lock and ast.unparse(call.func.value) == lock:
        return False
    if name in WAITING_BARE:
        positional = [one for one in call.args if not _is_number(one)]
        return not positional and all(one.arg in ("timeout", "block") for one in call.keywords)
    return name in WAITING


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def same_but_for(
    source: SourceFile, text: str, added: Collection[str], names: Mapping[str, str] | None = None
) -> None:
    """Raises unless the new text is the old one with `added` around or between its statements.

    `added` are headers (`with lock:`) and statements, each as `ast.unparse` writes it. `names` are
    new ones, with the expressions in whose place they are.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise UnpatchableError(f"the patched {source.name} does not compile: {error}") from None
    tree = _Inline(names or {}).visit(tree)
    if _plain(tree, added) != _plain(ast.parse(source.text), added):
        raise UnpatchableError(f"the patched {source.name} differs in more than was wanted")


class _Inline(ast.NodeTransformer):
    """Puts expressions in the place of names that were read."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id not in self._names or not isinstance(node.ctx, ast.Load):
            return node
        return ast.parse(self._names[node.id], mode="eval").body


def _plain(tree: ast.Module, added: Collection[str]) -> str:
    """The tree without what was added, in the original too: it may have such statements."""
    _strip(tree, frozenset(added))
    # A plain lock may have become a re-entrant one.
    return ast.dump(tree).replace("'RLock'", "'Lock'")


def _strip(node: ast.AST, added: frozenset[str]) -> None:
    for block in blocks_of(node):
        kept: list[ast.stmt] = []
        for statement in block:
            _strip(statement, added)
            kept += _without(statement, added)
        block[:] = kept
    if isinstance(node, ast.While):
        _join_loop(node)


def _join_loop(node: ast.While) -> None:
    """`while test:` of `while True: if not test: break`."""
    first = node.body[0] if node.body else None
    if not isinstance(first, ast.If) or ast.unparse(node.test) != "True" or first.orelse:
        return
    if len(first.body) == 1 and isinstance(first.body[0], ast.Break):
        node.test = _negation(first.test)
        node.body[:] = node.body[1:] or [ast.Pass()]


def _negation(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    return ast.UnaryOp(ast.Not(), test)


def _without(statement: ast.stmt, added: frozenset[str]) -> list[ast.stmt]:
    if isinstance(statement, ast.With):
        items = [one for one in statement.items if f"with {ast.unparse(one)}:" not in added]
        if not items:
            return statement.body
        statement.items = items
        # `with a: with b:` and `with a, b:` are the same.
        if len(statement.body) == 1 and isinstance(statement.body[0], ast.With):
            inner = statement.body[0]
            statement.items, statement.body = [*items, *inner.items], inner.body
        return [statement]
    return [] if ast.unparse(statement) in added else [statement]
