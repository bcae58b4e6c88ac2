# SPDX-License-Identifier: Apache-2.0
"""What led a Python function to a line: the lines that assign its names, and those that decide."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef
LEAVES = (ast.Return, ast.Raise)
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
        for target in own_nodes(function)
        if isinstance(target, ast.Name)
        and isinstance(target.ctx, ast.Store)
        and target.id in names
        and target.lineno < line
    )
    return sorted(set(bound))


def deciding_lines(file: str, line: int) -> list[int]:
    """The lines of the tests by which the function came to a line, the nearest first.

    These are the `if` statements around it, and those above it that would have left the function.
    How often a loop goes round is no decision about this line.
    """
    function = _function(file, line)
    tests = _tests(function.body, line) if function else ()
    lines = (range(test.lineno, (test.end_lineno or test.lineno) + 1) for test in tests)
    return [one for each in reversed([*lines]) for one in each]


def _tests(block: list[ast.stmt], line: int) -> Iterator[ast.expr]:
    for statement in block:
        if statement.lineno > line:
            return
        if end(statement) < line:
            if isinstance(statement, ast.If) and isinstance(statement.body[-1], LEAVES):
                yield statement.test
            continue
        if isinstance(statement, ast.If) and line > (statement.test.end_lineno or line):
            yield statement.test
        for _, inner in ast.iter_fields(statement):
            if isinstance(inner, list):
                yield from _tests(list(_statements(inner)), line)


def _statements(parts: list[ast.AST]) -> Iterator[ast.stmt]:
    """The statements of a block; of the handlers of a try and the cases of a match, theirs."""
    for part in parts:
        if isinstance(part, ast.stmt):
            yield part
        elif isinstance(part, ast.ExceptHandler | ast.match_case):
            yield from part.body


@lru_cache(maxsize=32)
def _functions(file: str) -> tuple[Function, ...]:
    try:
        with warnings.catch_warnings(action="ignore"):  # the program's own, and said elsewhere
            tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ()  # not Python, or gone: then nothing is known
    return tuple(node for node in ast.walk(tree) if isinstance(node, Function))


def end(node: ast.stmt) -> int:
    """The last line of a statement."""
    return node.end_lineno or node.lineno


def _function(file: str, line: int) -> Function | None:
    """The innermost function around a line."""
    around = [one for one in _functions(file) if one.lineno <= line <= end(one)]
    return max(around, key=lambda one: one.lineno, default=None)


def own_nodes(function: Function | ast.Module) -> Iterator[ast.AST]:
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
        for node in own_nodes(function)
        if isinstance(node, ast.stmt) and node.lineno <= line <= end(node)
    ]
    return max(around, key=lambda node: (node.lineno, -end(node)), default=None)


def _used(statement: ast.stmt) -> Iterator[str]:
    waiting = [node for node in ast.iter_child_nodes(statement) if not isinstance(node, ast.stmt)]
    for part in waiting:
        for node in ast.walk(part):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                yield node.id
