# SPDX-License-Identifier: Apache-2.0
"""Patches of what a queue is asked, and of what is taken from it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from unsnarl.patches.blocks import last_line
from unsnarl.patches.checks import same_but_for
from unsnarl.patches.conflict import Conflict
from unsnarl.patches.expressions import replace_expressions
from unsnarl.patches.pieces import functions, lines_of, made, names_in, nodes, whole
from unsnarl.patches.regions import Draft
from unsnarl.patches.source import LineEdits, SourceFile, UnpatchableError


def unfinished(conflict: Conflict) -> Iterator[Draft]:
    """`q.unfinished_tasks == 0` for `q.empty()`: what was taken is not in the queue, nor done.

    Only where the program says of each item when it is done.
    """
    lines = lines_of(conflict)
    for source, function in functions(conflict):
        negated = {
            id(node.operand): node
            for node in nodes(function)
            if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        }
        for node in nodes(function):
            if not isinstance(node, ast.Call) or (source.name, node.lineno) not in lines:
                continue
            queue = _asked(node, "empty")
            if queue is not None and names_in(queue) & conflict.at_fault:
                yield from made(_counted, source, node, negated.get(id(node)))


def _asked(call: ast.Call, method: str) -> ast.expr | None:
    """The object whose method is called, if it is this one."""
    is_it = isinstance(call.func, ast.Attribute) and call.func.attr == method
    return call.func.value if is_it and isinstance(call.func, ast.Attribute) else None


def _counted(source: SourceFile, node: ast.Call, negated: ast.expr | None) -> Draft:
    """`negated` is `not q.empty()`, where it says so."""
    queue = ast.unparse(node.func).rpartition(".")[0]
    done = [
        one
        for one in source.nodes
        if isinstance(one, ast.Call) and ast.unparse(one.func) == f"{queue}.task_done"
    ]
    if not done or node.args or node.keywords:
        raise UnpatchableError(f"nobody calls {queue}.task_done()")
    edits = LineEdits(source)
    asks = "==" if negated is None else ">"
    replace_expressions(edits, [negated or node], text=f"{queue}.unfinished_tasks {asks} 0")
    says = f"ask at {source.name}:{node.lineno} for tasks that are not done, not for waiting ones"
    return whole("queue", says, edits, 1)


def put_back(conflict: Conflict) -> Iterator[Draft]:
    """`q.put(self.result)` behind `if self.result is None: self.result = q.get()`.

    All who come want the one item; those that wait already must get it as well.
    """
    waits = {(one.file, one.line) for one in conflict.points if one.op == "wait"}
    for source, function in functions(conflict):
        for node in nodes(function):
            if isinstance(node, ast.If) and len(node.body) == 1 and not node.orelse:
                inner = node.body[0]
                if (source.name, inner.lineno) in waits and isinstance(inner, ast.Assign):
                    yield from made(_put_back, source, node, inner)


def _put_back(source: SourceFile, check: ast.If, taken: ast.Assign) -> Draft:
    latch = ast.unparse(taken.targets[0])
    queue = _asked(taken.value, "get") if isinstance(taken.value, ast.Call) else None
    if queue is None or len(taken.targets) != 1 or ast.unparse(check.test) != f"{latch} is None":
        raise UnpatchableError("nothing is taken once for all")
    edits = LineEdits(source)
    text = f"{ast.unparse(queue)}.put({latch})"
    edits.insert_after(last_line(taken), text, like=taken.lineno)
    same_but_for(source, edits.text(), [text])
    says = f"put back what {source.name}:{taken.lineno} takes: others wait for it, too"
    return whole("queue", says, edits, 1)
