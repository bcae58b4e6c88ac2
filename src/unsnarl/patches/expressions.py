# SPDX-License-Identifier: Apache-2.0
"""Expressions in the text: which names there are, and others put in their place."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeGuard

from unsnarl.patches.source import LineEdits, SourceFile, UnpatchableError


# Every draft asks for the same few files.
@lru_cache(maxsize=64)
def plain_names(source: SourceFile) -> frozenset[str]:
    """All names that are not those of attributes."""
    nodes = source.nodes
    found = {one.id for one in nodes if isinstance(one, ast.Name)}
    return frozenset(found | {one.arg for one in nodes if isinstance(one, ast.arg)})


def is_read(node: ast.AST, text: str) -> TypeGuard[ast.expr]:
    """Whether a node is a read of the variable with this text."""
    return (
        isinstance(node, ast.Attribute | ast.Name)
        and isinstance(node.ctx, ast.Load)
        and ast.unparse(node) == text
    )


def replace_expressions(
    edits: LineEdits, expressions: Sequence[ast.expr], text: str = "", call: str = ""
) -> None:
    """Put `text` in the place of each expression, or a `call` around it."""
    by_line: dict[int, list[ast.expr]] = {}
    for node in expressions:
        if node.lineno != node.end_lineno or node.end_col_offset is None:
            raise UnpatchableError(f"an expression of {edits.source.name} has several lines")
        by_line.setdefault(node.lineno, []).append(node)
    for line, found in by_line.items():
        data = edits.source.lines[line - 1].encode()
        for node in sorted(found, key=lambda one: -one.col_offset):
            data = _replaced(data, node, text, call)
        edits.change(line, data.decode())


def _replaced(data: bytes, node: ast.expr, text: str, call: str) -> bytes:
    first, last = node.col_offset, node.end_col_offset or 0
    old = data[first:last]
    # Positions within f-strings are not those of the file in Python 3.11.
    try:
        same = ast.dump(ast.parse(old.decode(), mode="eval").body) == ast.dump(_loaded(node))
    except (SyntaxError, ValueError):
        same = False
    if not same:
        raise UnpatchableError("an expression is not where it should be")
    new = b"%s(%s)" % (call.encode(), old) if call else text.encode()
    return data[:first] + new + data[last:]


def _loaded(node: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(node), mode="eval").body
