# SPDX-License-Identifier: Apache-2.0
"""What edits of several kinds need: a finding's functions, headers, expressions in the text."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import TypeGuard

from unsnarl.patches.blocks import Function, executed
from unsnarl.patches.conflict import Conflict, function_named, functions_of
from unsnarl.patches.regions import Draft
from unsnarl.patches.source import LineEdits, SourceFile, UnpatchableError


def made(make: Callable[..., Draft], *arguments: object) -> list[Draft]:
    """The draft, or nothing where this edit cannot be made."""
    try:
        return [make(*arguments)]
    except UnpatchableError:
        return []


def functions(conflict: Conflict) -> Iterator[tuple[SourceFile, Function]]:
    """The functions of the finding's points."""
    names = functions_of(conflict) | {(one.file, one.function) for one in conflict.points}
    seen: set[int] = set()
    for file, qualified in sorted(names):
        source = conflict.sources.get(file)
        function = function_named(source, qualified) if source is not None else None
        if source is not None and function is not None and id(function) not in seen:
            seen.add(id(function))
            yield source, function


def nodes(function: Function) -> Iterator[ast.AST]:
    """All that runs when the function does."""
    return executed(function.body)


def lines_of(conflict: Conflict) -> set[tuple[str, int]]:
    """Where the finding's points are."""
    return {(one.file, one.line) for one in conflict.points}


def names_in(node: ast.AST) -> frozenset[str]:
    """The variables and attributes that an expression names."""
    found = [one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)]
    return frozenset([*found, *(one.id for one in ast.walk(node) if isinstance(one, ast.Name))])


def plain_names(source: SourceFile) -> set[str]:
    """All names that are not those of attributes."""
    found = {one.id for one in ast.walk(source.tree) if isinstance(one, ast.Name)}
    return found | {one.arg for one in ast.walk(source.tree) if isinstance(one, ast.arg)}


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


def whole(kind: str, says: str, edits: LineEdits, size: int) -> Draft:
    """A draft of one file; it must compile."""
    text = edits.text()
    try:
        ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise UnpatchableError(f"the patched file does not compile: {error}") from None
    return Draft(kind, says, {edits.source.name: text}, size)
