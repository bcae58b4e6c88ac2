# SPDX-License-Identifier: Apache-2.0
"""Patches of what leaves its lock: `return self._values.items()` is a view, not what was there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from unsnarl.patches.blocks import Function, executed
from unsnarl.patches.conflict import Conflict
from unsnarl.patches.copies import ITERATED, ITERATION
from unsnarl.patches.expressions import replace_expressions
from unsnarl.patches.pieces import made, whole
from unsnarl.patches.regions import Draft
from unsnarl.patches.source import LineEdits, SourceFile, UnpatchableError

VIEWS = ("items", "keys", "values")


def handed_out(conflict: Conflict) -> Iterator[Draft]:
    """A copy for whoever iterates over what another function has returned."""
    if ITERATION not in conflict.message and conflict.finding.shape != ITERATED:
        return
    lines = "\n".join(_lines(conflict))
    for source in conflict.sources.values():
        for function in source.nodes:
            if isinstance(function, Function) and re.search(rf"\b{function.name}\b", lines):
                for node in executed(function.body):
                    yield from made(_copied, source, node, conflict.at_fault)


def _lines(conflict: Conflict) -> Iterator[str]:
    """The lines that read."""
    for point in conflict.points:
        source = conflict.sources.get(point.file)
        if point.op == "read" and source is not None and point.line <= len(source.lines):
            yield source.lines[point.line - 1]


def _copied(source: SourceFile, node: ast.AST, at_fault: frozenset[str]) -> Draft:
    value = node.value if isinstance(node, ast.Return) else None
    called = value.func if isinstance(value, ast.Call) and not value.args else None
    is_view = isinstance(called, ast.Attribute) and called.attr in VIEWS
    shared = called.value if isinstance(called, ast.Attribute) and is_view else value
    if value is None or not isinstance(shared, ast.Attribute | ast.Name):
        raise UnpatchableError("no container is handed out")
    if (shared.attr if isinstance(shared, ast.Attribute) else shared.id) not in at_fault:
        raise UnpatchableError("something else is handed out")
    edits = LineEdits(source)
    if is_view:
        replace_expressions(edits, [value], call="list")
    else:
        replace_expressions(edits, [value], text=f"{ast.unparse(shared)}.copy()")
    says = f"hand out a copy of {ast.unparse(shared)} at {source.name}:{value.lineno}"
    return whole("copy", says, edits, 1)
