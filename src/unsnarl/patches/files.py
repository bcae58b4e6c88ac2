# SPDX-License-Identifier: Apache-2.0
"""Patches of looks at files: what was there is gone when it is opened, or there when it is made.

No lock keeps other processes away, so none is as good as to do it and see.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from unsnarl.patches.blocks import covering, last_line
from unsnarl.patches.conflict import Conflict
from unsnarl.patches.expressions import replace_expressions
from unsnarl.patches.pieces import block_of, check_block, functions, lines_of, made, nodes, whole
from unsnarl.patches.regions import Draft
from unsnarl.patches.source import LineEdits, SourceFile, UnpatchableError, header_text

ASKING = ("exists", "isdir", "isfile", "lexists", "is_dir", "is_file")
THERE = ("exists", "isfile", "is_file")
# More than that, and who knows which file was not found.
SHORT = 3


def made_folders(conflict: Conflict) -> Iterator[Draft]:
    """`exist_ok=True`, or `except FileExistsError`, where a folder is made if it is not there.

    Only if nothing else is done then: two threads must not both fill it.
    """
    lines = lines_of(conflict)
    for source, function in functions(conflict):
        for node in nodes(function):
            if not isinstance(node, ast.If) or len(node.body) != 1 or node.orelse:
                continue
            (inner,) = node.body
            is_point = (source.name, inner.lineno) in lines
            if is_point and isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Call):
                yield from made(_made_folder, source, node, inner, inner.value)


def _asked(test: ast.expr, names: tuple[str, ...]) -> set[str]:
    """The paths that a test asks for: `path` of `os.path.exists(path)`, of `path.exists()`."""
    found = set()
    for node in ast.walk(test):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
            name = ast.unparse(node.func).rpartition(".")
            if name[2] in names and len(node.args) + bool(name[0]) > 0:
                found.add(ast.unparse(node.args[0]) if node.args else name[0])
    return found


def _made_folder(source: SourceFile, node: ast.If, inner: ast.Expr, call: ast.Call) -> Draft:
    owner, _, name = ast.unparse(call.func).rpartition(".")
    of_module = owner in ("os", "")
    path = ast.unparse(call.args[0]) if of_module and call.args else owner
    if name not in ("makedirs", "mkdir") or path not in _asked(node.test, ASKING):
        raise UnpatchableError("no folder is made if it is not there")
    if any(one.arg in (None, "exist_ok") for one in call.keywords):
        raise UnpatchableError("it may be there already")
    run = covering(source, inner.lineno, inner.lineno)
    if run.statements != (inner,):
        raise UnpatchableError("it is not one statement")
    edits = LineEdits(source)
    if name == "mkdir" and of_module:
        edits.wrap(run.first, run.last, "try:")
        edits.insert_after(run.last, "except FileExistsError:", like=run.first)
        edits.insert_after(run.last, f"{source.unit}pass", like=run.first)
        new = f"try:\n    {ast.unparse(inner)}\nexcept FileExistsError:\n    pass"
    else:
        old = ast.get_source_segment(source.text, call) or ""
        comma = ", " if call.args or call.keywords else ""
        new = f"{old[:-1]}{comma}exist_ok=True)"
        replace_expressions(edits, [call], text=new)
    check_block(source, edits, block_of(run), list(ast.parse(new).body))
    says = f"make the folder at {source.name}:{run.first}, also if another thread has made it"
    return whole("file", says, edits, 1)


def files_gone(conflict: Conflict) -> Iterator[Draft]:
    """`try:` and `except FileNotFoundError:` for `if os.path.exists(path):` before it is opened."""
    lines = lines_of(conflict)
    for source, function in functions(conflict):
        for node in nodes(function):
            if isinstance(node, ast.If) and (source.name, node.lineno) in lines:
                within = range(node.body[0].lineno, last_line(node.body[-1]) + 1)
                if any((source.name, line) in lines for line in within):
                    yield from made(_opened, source, node)


def _opened(source: SourceFile, node: ast.If) -> Draft:
    paths = _asked(node.test, THERE) if isinstance(node.test, ast.Call) else set()
    header_text(source, node, "if")
    if not paths or not source.lines[node.lineno - 1].lstrip().startswith("if "):
        raise UnpatchableError("the file is not all that is asked for")
    if _size(node.body) > SHORT or not _opens(node.body[0], paths.pop()):
        raise UnpatchableError("the file is not opened at once")
    run = covering(source, node.lineno, node.lineno)
    if run.statements != (node,):
        raise UnpatchableError("it is not one statement")
    edits = LineEdits(source)
    blank, end = source.indentation(node.lineno), source.newline
    edits.change(node.lineno, f"{blank}try:{end}")
    handler = f"{blank}except FileNotFoundError:"
    last = last_line(node.body[-1])
    if node.orelse:
        edits.change(_else_line(source, last, node.orelse[0].lineno), f"{handler}{end}")
    else:
        edits.insert_after(last, "except FileNotFoundError:", like=node.lineno)
        edits.insert_after(last, f"{source.unit}pass", like=node.lineno)
    error = ast.Name("FileNotFoundError", ast.Load())
    caught = ast.ExceptHandler(error, None, node.orelse or [ast.Pass()])
    block = block_of(run)
    at = block.index(node)
    new = ast.Try(node.body, [caught], [], [])
    check_block(source, edits, block, [*block[:at], new, *block[at + 1 :]])
    says = f"open the file at {source.name}:{node.body[0].lineno} without a look, which may be old"
    return whole("file", says, edits, 2)


def _size(body: list[ast.stmt]) -> int:
    """How many statements."""
    return sum(isinstance(one, ast.stmt) for node in body for one in ast.walk(node))


def _opens(node: ast.stmt, path: str) -> bool:
    """Whether the first thing that the statement does is one call with this path."""
    first = node.items[0].context_expr if isinstance(node, ast.With) else node
    calls = [one for one in ast.walk(first) if isinstance(one, ast.Call)]
    given = [one for one in calls if path in (ast.unparse(arg) for arg in one.args)]
    own = [one for one in calls if ast.unparse(one.func).rpartition(".")[0] == path]
    return len(given) + len(own) == 1


def _else_line(source: SourceFile, above: int, below: int) -> int:
    for line in range(above + 1, below):
        if source.lines[line - 1].strip() == "else:":
            return line
    raise UnpatchableError("there is more than an else")
