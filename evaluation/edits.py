# SPDX-License-Identifier: Apache-2.0
"""Edits that have nothing to do with a bug: a schedule must survive them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection

Functions = Collection[str]  # names of functions
Definition = ast.FunctionDef | ast.ClassDef


def line_added(source: str, _: Functions) -> str:
    """A statement above the first definition: every line number below changes."""
    first = next((node for node in ast.parse(source).body if isinstance(node, Definition)), None)
    at = _first_line(first) if first is not None else 1
    return _inserted(source, {at: ["ADDED = 1"]})


def comment_added(source: str, _: Functions) -> str:
    """A comment inside of every function, above its first statement."""
    remarks = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            statement = _first_statement(node)
            remarks[_first_line(statement)] = [f"{' ' * statement.col_offset}# a remark"]
    return _inserted(source, remarks)


def function_changed(source: str, buggy: Functions) -> str:
    """Another statement in every function that has no part in the bug; a new one if all have."""
    changes = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name not in buggy:
            statement = _first_statement(node)
            changes[_first_line(statement)] = [f"{' ' * statement.col_offset}added = len('it')"]
    if not changes:
        return line_added(source, ()).replace("ADDED = 1", "def added():\n    return 1", 1)
    return _inserted(source, changes)


EDITS: dict[str, Callable[[str, Functions], str]] = {
    "line added above": line_added,
    "another function changed": function_changed,
    "comments": comment_added,
}


def _first_statement(node: ast.FunctionDef) -> ast.stmt:
    """The first one behind the docstring, if there is another."""
    body = node.body
    return body[1] if len(body) > 1 and ast.get_docstring(node) is not None else body[0]


def _first_line(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])


def _inserted(source: str, lines: dict[int, list[str]]) -> str:
    """The source with lines put in above the lines of these numbers."""
    result: list[str] = []
    for number, line in enumerate(source.splitlines(), 1):
        result += lines.get(number, [])
        result.append(line)
    return "\n".join(result) + "\n"
