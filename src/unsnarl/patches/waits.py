# SPDX-License-Identifier: Apache-2.0
"""Patches of waits: looked at before and after, and locks that are let go of on every path."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from unsnarl.patches.blocks import Function, blocks_of, covering, executed, first_line, last_line
from unsnarl.patches.checks import same_but_for
from unsnarl.patches.conflict import Conflict
from unsnarl.patches.pieces import block_of, check_block, functions, lines_of, made, nodes, whole
from unsnarl.patches.regions import Draft
from unsnarl.patches.source import (
    LineEdits,
    SourceFile,
    UnpatchableError,
    changed_header,
    header_text,
)

NOTIFIES = ("notify", "notify_all", "notifyAll")
LEAVING = (ast.Return, ast.Break, ast.Continue, ast.Raise)
OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}

# A wait in a loop.


def rechecks(conflict: Conflict) -> Iterator[Draft]:
    """`while` instead of `if` around a condition's wait: what was true when it was woken may not
    be any more; and the check under the condition's lock."""
    for source, function in functions(conflict):
        for node in nodes(function):
            if isinstance(node, ast.If) and not node.orelse and len(node.body) == 1:
                yield from made(_rechecked, source, node)


def _rechecked(source: SourceFile, node: ast.If) -> Draft:
    inner = node.body[0]
    test = header_text(source, node, "if")
    if _is_wait(inner):
        edits = LineEdits(source)
        edits.change(node.lineno, changed_header(source, node.lineno, f"while {test}:"))
        says = f"check the condition of {source.name}:{node.lineno} once more after the wait"
        return whole("recheck", says, edits, 1)
    if isinstance(inner, ast.With) and len(inner.body) == 1 and _is_wait(inner.body[0]):
        lock = header_text(source, inner, "with")
        edits = LineEdits(source)
        edits.change(node.lineno, changed_header(source, node.lineno, f"with {lock}:"))
        edits.change(inner.lineno, changed_header(source, inner.lineno, f"while {test}:"))
        says = f"check the condition of {source.name}:{node.lineno} under its lock, in a loop"
        return whole("recheck", says, edits, 2)
    raise UnpatchableError("there is no wait")


def _is_wait(node: ast.stmt) -> bool:
    return _called(node, "wait") is not None


def _called(node: ast.stmt, method: str) -> ast.Call | None:
    """The call of a method for its effect."""
    value = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return None
    return value if value.func.attr == method else None


# A look before a wait.


def looks(conflict: Conflict) -> Iterator[Draft]:
    """`if not done: c.wait(t)` for `c.wait(t)`: whoever comes late is not woken any more.

    What is looked at is what lets the function return before the wait, or what it returns after it.
    """
    for source, function in functions(conflict):
        over = list(_over(function))
        for wait in _waits_with_lock(function) if over else ():
            yield from made(_looked, source, wait, over[0])


def _over(function: Function) -> Iterator[ast.expr]:
    """What is so when there is nothing left to wait for."""
    for node in function.body:
        if isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], ast.Return):
            yield node.test
    answer = function.body[-1]
    if isinstance(answer, ast.Return) and answer.value is not None:
        yield answer.value


def _waits_with_lock(function: Function) -> Iterator[ast.stmt]:
    """Waits for a condition right behind where its lock is taken."""
    for node in nodes(function):
        if isinstance(node, ast.With) and len(node.body) == 1:
            held = {ast.unparse(one.context_expr) for one in node.items}
            if receiver(node.body[0], "wait") in held:
                yield node.body[0]
    for block in _blocks(function):
        for before, wait in pairwise(block):
            condition = receiver(wait, "wait")
            if condition and _lock_of(before, "acquire", function) == condition:
                yield wait


def _looked(source: SourceFile, wait: ast.stmt, over: ast.expr) -> Draft:
    if not _shared(over) & _notified(source, receiver(wait, "wait")):
        raise UnpatchableError("nobody is woken for what the answer depends on")
    # One with a time limit may end without a signal.
    call = _called(wait, "wait")
    word = "if" if call is not None and (call.args or call.keywords) else "while"
    header = f"{word} {_negated(over)}:"
    run = covering(source, wait.lineno, wait.lineno)
    edits = LineEdits(source)
    edits.wrap(run.first, run.last, header)
    new = ast.parse(f"{header}\n    {ast.unparse(wait)}").body
    block = block_of(run)
    at = block.index(wait)
    check_block(source, edits, block, [*block[:at], *new, *block[at + 1 :]])
    says = f"look before the wait of {source.name}:{wait.lineno} whether it is over"
    return whole("recheck", says, edits, 1)


def _negated(node: ast.expr) -> str:
    """`x is None` of `x is not None`; else with a `not`."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return ast.unparse(node.operand)
    if isinstance(node, ast.Compare) and type(node.ops[0]) in OPPOSITES and len(node.ops) == 1:
        opposite = ast.Compare(node.left, [OPPOSITES[type(node.ops[0])]()], node.comparators)
        return ast.unparse(opposite)
    return ast.unparse(ast.UnaryOp(ast.Not(), node))


def _shared(node: ast.AST) -> set[str]:
    return {ast.unparse(one) for one in ast.walk(node) if isinstance(one, ast.Attribute)}


def _notified(source: SourceFile, condition: str) -> set[str]:
    """What is assigned where those who wait are notified: in the same `with`, or the same block."""
    found: set[str] = set()
    calls = {f"{condition}.{name}" for name in NOTIFIES}
    for node in source.nodes:
        for block in blocks_of(node):
            inside = list(executed(block)) if isinstance(node, ast.With) else block
            if calls.isdisjoint(map(_callee, inside)):
                continue
            stored = (one for one in executed(block) if isinstance(one, ast.Attribute))
            found |= {ast.unparse(one) for one in stored if isinstance(one.ctx, ast.Store)}
    return found


def _callee(node: ast.AST) -> str:
    """`self.ready.notify` of a call of it; "" for anything else."""
    call = node.value if isinstance(node, ast.Expr) else node
    return ast.unparse(call.func) if isinstance(call, ast.Call) else ""


# A signal that is taken back.


def cleared_first(conflict: Conflict) -> Iterator[Draft]:
    """`event.clear()` right behind `event.wait()`: what is signalled during the work stays."""
    lines = lines_of(conflict)
    for source, function in functions(conflict):
        for block in _blocks(function):
            for node in block:
                if (source.name, node.lineno) in lines and _called(node, "clear") is not None:
                    yield from made(_cleared_first, source, block, node)


def _cleared_first(source: SourceFile, block: list[ast.stmt], node: ast.stmt) -> Draft:
    at = block.index(node)
    signal = receiver(node, "clear")
    waits = [to for to, one in enumerate(block[:at]) if receiver(one, "wait") == signal]
    if not waits or waits[-1] == at - 1:
        raise UnpatchableError("it is cleared at once, or elsewhere")
    behind = block[waits[-1]]
    passed = block[waits[-1] + 1 : at]
    run = covering(source, node.lineno, node.lineno)
    if run.statements != (node,) or any(isinstance(one, LEAVING) for one in executed(passed)):
        raise UnpatchableError("it is not cleared every time")
    edits = LineEdits(source)
    edits.move(run.first, run.last, last_line(behind))
    first = waits[-1] + 1
    check_block(source, edits, block, [*block[:first], node, *passed, *block[at + 1 :]])
    says = f"move {source.name}:{run.first} before :{first_line(passed[0])}, behind the wait"
    return whole("move", says, edits, 2)


def receiver(node: ast.stmt, method: str) -> str:
    """`self.ready` of `self.ready.wait()`."""
    call = _called(node, method)
    return ast.unparse(call.func.value) if call and isinstance(call.func, ast.Attribute) else ""


# A lock that is let go of.


def releases(conflict: Conflict) -> Iterator[Draft]:
    """`release()` before a `break` or `return` that leaves a lock taken."""
    lines = lines_of(conflict)
    for source, function in functions(conflict):
        for block in _blocks(function):
            for at, node in enumerate(block):
                lock = _lock_of(node, "acquire", function)
                if lock and (source.name, node.lineno) in lines:
                    yield from made(_released, source, function, block[at + 1 :], lock)


def _blocks(function: Function) -> Iterator[list[ast.stmt]]:
    yield function.body
    for node in nodes(function):
        if isinstance(node, ast.stmt):
            yield from blocks_of(node)


def _lock_of(node: ast.stmt, method: str, function: Function) -> str:
    """`self.lock` of `self.lock.acquire()`, or of a local name for that; "" for anything else."""
    value = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(value, ast.Call):
        return ""
    text = ast.unparse(value.func)
    for one in nodes(function):
        if isinstance(one, ast.Assign) and [ast.unparse(two) for two in one.targets] == [text]:
            text = ast.unparse(one.value)
    owner, _, name = text.rpartition(".")
    return owner if name == method else ""


def _released(source: SourceFile, function: Function, behind: list[ast.stmt], lock: str) -> Draft:
    ends = [at for at, one in enumerate(behind) if _lock_of(one, "release", function) == lock]
    if not ends:
        raise UnpatchableError("it is released elsewhere")
    release = ast.unparse(behind[ends[0]])
    edits = LineEdits(source)
    left = [one for one in _leaving(behind[: ends[0]], release) if isinstance(one, ast.stmt)]
    for one in left:
        if source.lines[one.lineno - 1].encode()[: one.col_offset].strip():
            raise UnpatchableError("it is not in a line of its own")
        edits.insert_before(first_line(one), release)
    if not left:
        raise UnpatchableError("it is released on every path")
    same_but_for(source, edits.text(), [release])
    lines = ", :".join(str(one.lineno) for one in left)
    says = f"release {lock} before {source.name}:{lines}"
    return whole("release", says, edits, len(left))


def _leaving(statements: list[ast.stmt], release: str) -> Iterator[ast.stmt]:
    """What leaves the statements without a release before it; a loop of their own is not left."""
    for at, node in enumerate(statements):
        if isinstance(node, LEAVING):
            before = {ast.unparse(one) for one in statements[:at]}
            if release not in before:
                yield node
        for block in blocks_of(node):
            found = _leaving(block, release)
            inner = isinstance(node, ast.For | ast.While) and block is node.body
            yield from (
                one for one in found if not inner or isinstance(one, ast.Return | ast.Raise)
            )
