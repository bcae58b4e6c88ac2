# SPDX-License-Identifier: Apache-2.0
"""Where a local name of a Python function got what it refers to: the lines that assign it."""

from __future__ import annotations

import ast
import warnings
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


@lru_cache(maxsize=32)
def _functions(file: str) -> tuple[Function, ...]:
    try:
        with warnings.catch_warnings(action="ignore"):  # the program's own, and said elsewhere
            tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ()  # not Python, or gone: then nothing is known
    return tuple(node for node in ast.walk(tree) if isinstance(node, Function))


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
