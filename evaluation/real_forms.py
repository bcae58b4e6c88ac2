# SPDX-License-Identifier: Apache-2.0
"""The same test as a script, to compare what a run costs by pytest and without it."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple


class Script(NamedTuple):
    """A script that calls one test of a file."""

    test: str
    text: str


def as_script(driver: Path) -> Script | None:
    """The first test that needs nothing of pytest: a function without arguments and decorators."""
    for node in ast.parse(driver.read_text(encoding="utf-8")).body:
        if (
            isinstance(node, ast.FunctionDef)
            and node.name.startswith("test")
            and not node.decorator_list
            and ast.unparse(node.args) == ""
        ):
            return Script(node.name, f"import {driver.stem}\n\n{driver.stem}.{node.name}()\n")
    return None
