# SPDX-License-Identifier: Apache-2.0
"""Who imports whom in src/unsnarl, read from the source: also imports inside functions."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import unsnarl

SOURCE = Path(unsnarl.__file__).parent
PACKAGE = "unsnarl"


@cache
def modules() -> dict[str, Path]:
    """All modules of the package, by name."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join((PACKAGE, *(part for part in parts if part != "__init__")))] = path
    return found


@cache
def imported_by(module: str, *, typing: bool) -> frozenset[str]:
    """What a module imports; with `typing` also what it imports for annotations only."""
    tree = ast.parse(modules()[module].read_text("utf-8"))
    return frozenset(name for node in _nodes(tree, typing) for name in _names(node))


def _nodes(tree: ast.AST, typing: bool) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not typing:
            continue
        yield node
        yield from _nodes(node, typing)


def _names(node: ast.AST) -> Iterator[str]:
    """`from package import module` names the module, `from module import name` the module."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert node.module is not None, "imports are absolute"
        for alias in node.names:
            inner = f"{node.module}.{alias.name}"
            yield inner if inner in modules() or inner == f"{PACKAGE}._core" else node.module
    elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
        yield from (arg.value for arg in node.args if isinstance(arg, ast.Constant))
