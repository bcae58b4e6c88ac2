# SPDX-License-Identifier: Apache-2.0
"""How a file names a module, the import that it lacks, and where its imports end."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from unsnarl.patches.blocks import DEFINITIONS, blocks_of, first_line, is_text, last_line
from unsnarl.patches.source import LineEdits, SourceFile, UnpatchableError

IMPORTS = (ast.Import, ast.ImportFrom)


def import_statement(edits: LineEdits, module: str) -> tuple[str, list[str]]:
    """The name of a module in this file; it is imported if it is not, which is given too."""
    for node in edits.source.tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == module:
                    return alias.asname or module, []
    text = f"import {module}"
    plain = [one for one in _first_group(edits.source) if isinstance(one, ast.Import)]
    later = [one for one in plain if one.names[0].name > module]
    line, before = _import_line(edits.source)
    if later:
        edits.insert_before(later[0].lineno, text)
    elif plain:
        edits.insert_after(last_line(plain[-1]), text, like=plain[-1].lineno)
    elif before:
        edits.insert_before(line, text, like=line)
        set_apart(edits, line)
    else:
        edits.insert_after(line, f"\n{text}", like=line)
        set_apart(edits, line + 1)
    return module, [text]


def set_apart(edits: LineEdits, line: int) -> None:
    """Blank lines behind what is inserted before a line of the module, as they are usual there."""
    lines = edits.source.lines
    text = next((at for at, one in enumerate(lines[line - 1 :], line) if one.strip()), 0)
    behind = (one for one in edits.source.tree.body if first_line(one) >= text)
    node = next(behind, None) if text else None
    if node is None or (isinstance(node, IMPORTS) and text == line):
        return
    # A comment above a class or function belongs to it.
    comments = lines[text - 1 : first_line(node) - 1]
    is_definition = isinstance(node, DEFINITIONS) and all(one.startswith("#") for one in comments)
    edits.set_apart(line, max((2 if is_definition else 1) - (text - line), 0))


def _first_group(source: SourceFile) -> Iterator[ast.stmt]:
    """The imports at the top, up to the first blank line between them; each in its own line."""
    end = 0
    for node in source.tree.body:
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if future or (is_text(node) and node is source.tree.body[0]):
            continue
        if not isinstance(node, IMPORTS) or (end and node.lineno != end + 1):
            return
        end = last_line(node)
        yield node


def member(edits: LineEdits, module: str, name: str) -> tuple[str, list[str]]:
    """`Lock` or `threading.Lock`, as this file names it; with the import that was added."""
    found = [
        node
        for node in edits.source.tree.body
        if isinstance(node, ast.ImportFrom) and node.module == module and not node.level
    ]
    for node in found:
        for alias in node.names:
            if alias.name == name:
                return alias.asname or name, []
    if found and not _is_imported(edits.source, module) and not _is_taken(edits.source, name):
        try:
            add_name(edits, found[0], name)
            return name, [f"from {module} import {name}"]
        except UnpatchableError:
            pass
    imported, added = import_statement(edits, module)
    return f"{imported}.{name}", added


def _is_imported(source: SourceFile, module: str) -> bool:
    every = (one for node in source.tree.body if isinstance(node, ast.Import) for one in node.names)
    return any(one.name == module for one in every)


def _is_taken(source: SourceFile, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in source.nodes)


def add_name(edits: LineEdits, node: ast.ImportFrom, name: str) -> None:
    """`from threading import Event, Lock`, for one line without brackets."""
    line = edits.source.lines[node.lineno - 1]
    code = line.rstrip("\r\n")
    old = ", ".join(ast.unparse(one) for one in node.names)
    head = f"from {node.module} import "
    if code != head + old or node.names[0].name == "*":
        raise UnpatchableError("the import has more in it")
    names = [ast.unparse(one) for one in node.names]
    at = sum(one < name for one in names) if names == sorted(names) else len(names)
    names.insert(at, name)
    edits.change(node.lineno, head + ", ".join(names) + line[len(code) :])


def last_import(source: SourceFile) -> ast.stmt | None:
    """The last of the imports at the top, with those that are only tried.

    Or that of `threading`, if it comes later: what stands behind it can make a lock.
    """
    found = None
    for node in source.tree.body:
        if isinstance(node, IMPORTS) or _only_imports(node):
            found = node
        elif not (_is_of_the_module(node) or (is_text(node) and node is source.tree.body[0])):
            break
    later = [node for node in source.tree.body if _imports_threading(node)]
    every = [node for node in (found, *later[:1]) if node is not None]
    return max(every, key=lambda node: node.lineno, default=None)


def _is_of_the_module(node: ast.stmt) -> bool:
    """`__author__ = "somebody"`, which may stand before the imports."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    return bool(targets) and all(ast.unparse(one).startswith("__") for one in targets)


def _imports_threading(node: ast.stmt) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == "threading"
    return isinstance(node, ast.Import) and any(one.name == "threading" for one in node.names)


def _only_imports(node: ast.stmt) -> bool:
    """`try: import a` `except ImportError: a = None`"""
    if not isinstance(node, ast.Try | ast.If):
        return False
    inner = [one for block in blocks_of(node) for one in block]
    plain = all(
        isinstance(one, (*IMPORTS, ast.Assign, ast.Pass)) or _only_imports(one) for one in inner
    )
    return plain and any(isinstance(one, IMPORTS) or _only_imports(one) for one in inner)


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
        return first_line(source.tree.body[0]), True
    return head, False
