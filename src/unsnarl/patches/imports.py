# SPDX-License-Identifier: Apache-2.0
"""How a file names a module, and the import that it lacks."""

from __future__ import annotations

import ast

from unsnarl.patches.blocks import is_text, last_line
from unsnarl.patches.source import LineEdits, SourceFile


def import_statement(edits: LineEdits, module: str) -> tuple[str, list[str]]:
    """The name of a module in this file; it is imported if it is not, which is given too."""
    for node in edits.source.tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == module:
                    return alias.asname or module, []
    line, before = _import_line(edits.source)
    text = f"import {module}"
    if before:
        edits.insert_before(line, text, like=line)
    else:
        edits.insert_after(line, text, like=line)
    return module, [text]


def member(edits: LineEdits, module: str, name: str) -> tuple[str, list[str]]:
    """`Lock` or `threading.Lock`, as this file names it; with the import that was added."""
    for node in edits.source.tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == module and not node.level:
            for alias in node.names:
                if alias.name == name:
                    return alias.asname or name, []
    imported, added = import_statement(edits, module)
    return f"{imported}.{name}", added


def _import_line(source: SourceFile) -> tuple[int, bool]:
    """Where an import can be added: before the first one, or behind what must come first."""
    head = 0
    for node in source.tree.body:
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if future or (is_text(node) and node is source.tree.body[0]):
            head = last_line(node)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            return node.lineno, True
        else:
            break
    if not head:
        return source.tree.body[0].lineno, True
    return head, False
