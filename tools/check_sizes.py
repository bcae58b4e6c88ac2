# SPDX-License-Identifier: Apache-2.0
"""House rule: functions of at most 80 lines, files of at most 700, with named exceptions."""

import ast
import subprocess
import sys
from pathlib import Path

MOST_FUNCTION_LINES = 80
MOST_FILE_LINES = 700
ALLOWED: dict[str, str] = {}  # path -> reason


def long_functions(path: Path) -> list[str]:
    """The Python functions of a file that are over the limit."""
    tree = ast.parse(path.read_text())
    return [
        f"{path}:{node.lineno}: {node.name} has {node.end_lineno - node.lineno + 1} lines"
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno >= MOST_FUNCTION_LINES
    ]


def complaints(path: Path) -> list[str]:
    """What is too large in a file."""
    if str(path) in ALLOWED:
        return []
    lines = path.read_text().count("\n")
    found = [f"{path}: {lines} lines"] if lines > MOST_FILE_LINES else []
    return found + (long_functions(path) if path.suffix == ".py" else [])


if __name__ == "__main__":
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True)
    paths = [Path(line) for line in listed.stdout.splitlines()]
    sources = [p for p in paths if p.suffix in {".py", ".c", ".h"} and p.exists()]
    problems = [text for path in sources for text in complaints(path)]
    print("\n".join(problems) or f"sizes: {len(sources)} files within the limits")
    sys.exit(bool(problems))
