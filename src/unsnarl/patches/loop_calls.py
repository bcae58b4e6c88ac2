# SPDX-License-Identifier: Apache-2.0
"""Patches of calls into an event loop from another thread: asyncio has them in a thread-safe form.

`loop.call_soon(f)` does not wake a loop that sleeps in another thread, and neither does
`loop.stop()` (asyncio's documentation, "Concurrency and Multithreading").
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from unsnarl.patches.conflict import Conflict
from unsnarl.patches.expressions import replace_expressions
from unsnarl.patches.pieces import functions, lines_of, made, nodes, whole
from unsnarl.patches.regions import Draft
from unsnarl.patches.source import LineEdits, SourceFile, UnpatchableError

SAFE = "call_soon_threadsafe"
RENAMED = "call_soon"
# Handed to the loop instead of being called.
HANDED = ("stop",)


def threadsafe_calls(conflict: Conflict) -> Iterator[Draft]:
    """`loop.call_soon_threadsafe(f)` for `loop.call_soon(f)`, at lines of the finding."""
    lines = lines_of(conflict)
    for source, function in functions(conflict):
        for node in nodes(function):
            call = node.value if isinstance(node, ast.Expr) else None
            if isinstance(call, ast.Call) and (source.name, call.lineno) in lines:
                yield from made(_safe, source, call)


def _safe(source: SourceFile, call: ast.Call) -> Draft:
    method = call.func
    if not isinstance(method, ast.Attribute):
        raise UnpatchableError("it is no call of a loop")
    loop = ast.unparse(method.value)
    edits = LineEdits(source)
    if method.attr == RENAMED:
        replace_expressions(edits, [method], f"{loop}.{SAFE}")
    elif method.attr in HANDED and "loop" in loop and not call.args and not call.keywords:
        replace_expressions(edits, [call], f"{loop}.{SAFE}({ast.unparse(method)})")
    else:
        raise UnpatchableError("there is no thread-safe form of it")
    says = f"call {loop}.{SAFE}() at {source.name}:{call.lineno}: the loop runs in another thread"
    return whole("threadsafe-call", says, edits, 1)
