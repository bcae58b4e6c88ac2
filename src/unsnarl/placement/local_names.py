# SPDX-License-Identifier: Apache-2.0
"""Where a name of a Python function got what it refers to, and where the function was defined."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def names_used(file: str, line: int) -> frozenset[str]:
    """The plain names that the statement on a line uses; of a compound one, its head does."""
    function = _function(file, line)
    statement = function and _statement(function, line)
    return frozenset(_used(statement)) if statement else frozenset()


def assigning_lines(file: str, line: int, names: frozenset[str]) -> list[int]:
    """The lines above, in the same function, that bind one of the names."""
    function = _function(file, line)
    if function is None:
        return []
    bound = (
        target.lineno
        for target in _own_nodes(function)
        if isinstance(target, ast.Name)
        and isinstance(target.ctx, ast.Store)
        and target.id in names
        and target.lineno < line
    )
    return sorted(set(bound))


def defining_lines(file: str, line: int) -> range:
    """The head of what defines the code of a line at the top of its module, with decorators."""
    for node in _tree(file).body:
        if isinstance(node, Function | ast.ClassDef) and node.lineno < line <= _end(node):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            return range(first, node.lineno + 1)
    return range(0)


@lru_cache(maxsize=32)
def _tree(file: str) -> ast.Module:
    try:
        return ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ast.Module([], [])  # not Python, or gone: then nothing is known


@lru_cache(maxsize=32)
def _functions(file: str) -> tuple[Function, ...]:
    return tuple(node for node in ast.walk(_tree(file)) if isinstance(node, Function))


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _function(file: str, line: int) -> Function | None:
    """The innermost function around a line."""
    around = [one for one in _functions(file) if one.lineno <= line <= _end(one)]
    return max(around, key=lambda one: one.lineno, default=None)


def _own_nodes(function: Function) -> Iterator[ast.AST]:
    """What belongs to the function itself, not to one that is defined in it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, SCOPES):
            waiting.extend(ast.iter_child_nodes(node))


def _statement(function: Function, line: int) -> ast.stmt | None:
    """The innermost statement that has the line."""
    around = [
        node
        for node in _own_nodes(function)
        if isinstance(node, ast.stmt) and node.lineno <= line <= _end(node)
    ]
    return max(around, key=lambda node: (node.lineno, -_end(node)), default=None)


def _used(statement: ast.stmt) -> Iterator[str]:
    waiting = [node for node in ast.iter_child_nodes(statement) if not isinstance(node, ast.stmt)]
    for part in waiting:
        for node in ast.walk(part):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                yield node.id
