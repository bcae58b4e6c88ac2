# SPDX-License-Identifier: Apache-2.0
"""One name, one thing: no two public classes of the package are called the same."""

import ast
from collections import defaultdict

from tests.unit.imports import PACKAGE, modules


def homes() -> dict[str, list[str]]:
    """By name of a public top-level class, the modules that define one."""
    found: dict[str, list[str]] = defaultdict(list)
    for module, path in modules().items():
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(module.removeprefix(f"{PACKAGE}."))
    return found


def test_public_class_names_are_unique() -> None:
    twice = {name: where for name, where in homes().items() if len(where) > 1}
    assert twice == {}
