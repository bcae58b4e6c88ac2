# SPDX-License-Identifier: Apache-2.0
"""Patches of signals that are taken back: one more look, at all that was looked at before."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import pairwise

from unsnarl.patches.blocks import Function, StatementRun, blocks_of, covering, executed
from unsnarl.patches.conflict import Conflict
from unsnarl.patches.pieces import (
    block_of,
    check_block,
    functions,
    lines_of,
    made,
    names_in,
    nodes,
    whole,
)
from unsnarl.patches.regions import Draft
from unsnarl.patches.source import LineEdits, SourceFile, UnpatchableError
from unsnarl.patches.waits import LEAVING, receiver

# What only looks, wherever it is asked once more.
LOOKS: tuple[type[ast.AST], ...] = (ast.expr_context, ast.boolop, ast.unaryop, ast.cmpop)
LOOKS += (ast.Constant, ast.Name, ast.Attribute, ast.BoolOp, ast.UnaryOp, ast.Compare)
ASKING = ("empty", "is_set", "qsize", "is_alive", "done")
WIDTH = 88


def cleared_looks(conflict: Conflict) -> Iterator[Draft]:
    """`event.clear()`, and behind it one more look: `if closed or not jobs.empty(): event.set()`.

    What came after the last look and before `clear()` would be announced no more. It cannot be
    cleared before the look where that takes one thing of several: the next turn would wait.
    """
    lines = lines_of(conflict)
    for source, function in functions(conflict):
        for node in nodes(function):
            is_point = isinstance(node, ast.Expr) and (source.name, node.lineno) in lines
            if is_point and isinstance(node, ast.Expr) and receiver(node, "clear"):
                yield from made(_cleared_looks, conflict, source, function, node)


def _cleared_looks(
    conflict: Conflict, source: SourceFile, function: Function, node: ast.Expr
) -> Draft:
    signal = receiver(node, "clear")
    run = covering(source, node.lineno, node.lineno)
    if run.statements != (node,) or run.function is not function:
        raise UnpatchableError("it is not cleared in a line of its own")
    looks = _looks(run, signal)
    if not any(names_in(one) & conflict.at_fault for one in looks):
        raise UnpatchableError("nothing at fault decides whether it is cleared")
    text = f"{_asked(source, looks, node.lineno)}\n{source.unit}{signal}.set()"
    edits = LineEdits(source)
    edits.insert_after(run.last, text, like=node.lineno)
    block = block_of(run)
    at = block.index(node) + 1
    check_block(source, edits, block, [*block[:at], *ast.parse(text).body, *block[at:]])
    says = f"look once more behind {source.name}:{node.lineno}, where {signal} is cleared"
    return whole("recheck", says, edits, 2)


def _asked(source: SourceFile, looks: Sequence[ast.expr], line: int) -> str:
    """The header, in several lines where one would be too long."""
    texts = [_text(source, look, alone=len(looks) == 1) for look in looks]
    header = f"if {' or '.join(texts)}:"
    if len(source.indentation(line)) + len(header) <= WIDTH or len(looks) == 1:
        return header
    rows = [texts[0], *(f"or {other}" for other in texts[1:])]
    return "\n".join(["if (", *(f"{source.unit}{row}" for row in rows), "):"])


def _text(source: SourceFile, look: ast.expr, *, alone: bool) -> str:
    """As the program has written it, in one line."""
    written = ast.get_source_segment(source.text, look) if hasattr(look, "lineno") else None
    text = written if written is not None and "\n" not in written else ast.unparse(look)
    return text if alone or not isinstance(look, ast.BoolOp) else f"({text})"


def _looks(run: StatementRun, signal: str) -> list[ast.expr]:
    """What was not so on the way from the wait to the statement; raises where that is not plain."""
    inner = [one for one in run.around if isinstance(one, Function | ast.While)]
    loop = inner[-1] if inner else None
    if not isinstance(loop, ast.While):
        raise UnpatchableError("it is not cleared in a loop")
    way = [*run.around[run.around.index(loop) + 1 :], run.statements[0]]
    waits = [at for at, one in enumerate(loop.body) if receiver(one, "wait") == signal]
    begin = loop.body.index(way[0]) if way[0] in loop.body else -1
    if not waits or waits[0] >= begin:
        raise UnpatchableError("it is not waited for in that loop")
    found = _before(loop.body[waits[0] + 1 : begin])
    for around, node in pairwise(way):
        found += _led(around, node)
    changing = {
        one.id
        for one in executed(loop.body)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }
    if not all(_only_looks(one) and not changing & names_in(one) for one in found):
        raise UnpatchableError("what decided cannot be asked once more")
    return found


def _before(block: Sequence[ast.stmt]) -> list[ast.expr]:
    """The tests of statements that leave, or go round and round, if something is to be done."""
    asking = [one for one in block if isinstance(one, ast.If | ast.While) and not one.orelse]
    return [
        one.test
        for one in asking
        if isinstance(one, ast.While) or isinstance(one.body[-1], LEAVING)
    ]


def _led(around: ast.AST, node: ast.AST) -> list[ast.expr]:
    """What must not be for a statement to lead to another one in it."""
    if isinstance(around, ast.For | ast.AsyncFor | ast.Match):
        raise UnpatchableError("it is cleared in a loop of its own")
    block = next(one for one in blocks_of(around) if node in one)
    found = _before(block[: block.index(node)])  # type: ignore[arg-type]
    if isinstance(around, ast.If):
        return [around.test if block is around.orelse else _not(around.test), *found]
    if isinstance(around, ast.Try):
        handler = next((one for one in around.handlers if block is one.body), None)
        return [*_taken(around, handler), *found] if handler is not None else found
    return found


def _not(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    return ast.UnaryOp(ast.Not(), test)


def _taken(node: ast.Try, handler: ast.ExceptHandler) -> list[ast.expr]:
    """`not jobs.empty()`, of `jobs.get_nowait()` whose `Empty` is handled there."""
    error = ast.unparse(handler.type).rpartition(".")[2] if handler.type is not None else ""
    found = [
        ast.unparse(one.func.value)
        for one in executed(node.body)
        if isinstance(one, ast.Call)
        and isinstance(one.func, ast.Attribute)
        and one.func.attr in ("get_nowait", "get")
    ]
    if error != "Empty" or len(found) != 1:
        raise UnpatchableError("what was missing there cannot be asked for")
    empty = ast.Call(
        ast.Attribute(ast.parse(found[0], mode="eval").body, "empty", ast.Load()), [], []
    )
    return [ast.UnaryOp(ast.Not(), empty)]


def _only_looks(test: ast.expr) -> bool:
    """Whether an expression has no effect, and answers by what is so now."""
    calls = [one for one in ast.walk(test) if isinstance(one, ast.Call)]
    plain = all(isinstance(one, (*LOOKS, ast.Call)) for one in ast.walk(test))
    return plain and all(_asks(one) for one in calls)


def _asks(call: ast.Call) -> bool:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr in ASKING and not call.args
    return ast.unparse(call.func) == "len"
