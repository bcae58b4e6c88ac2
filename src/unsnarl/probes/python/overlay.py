# SPDX-License-Identifier: Apache-2.0
"""Patched sources that are run in the stead of files, which stay as they are.

The name of a file keeps its meaning: tracebacks, sites and `__file__` are those of the original.
"""

from __future__ import annotations

import ast
import linecache
import os
import sys
from types import CodeType

# What pytest's assertion rewriter imports into a module of tests.
_PYTEST_NAME = "@pytest_ar"

_files: dict[str, str] = {}
_names: set[str] = set()


def install(files: dict[str, str]) -> None:
    """From now on, the text of the first file of each pair is that of the second."""
    _files.clear()
    _files.update({os.path.realpath(path): patched for path, patched in files.items()})
    _names.clear()
    _names.update(path.rpartition("/")[2] for path in _files)
    for path in files:
        # Tracebacks quote the lines that run; without a time of change nobody looks at the file.
        lines = (patched_source(path) or b"").decode("utf-8", "replace").splitlines(keepends=True)
        linecache.cache[path] = (sum(map(len, lines)), None, lines, path)


def patched_source(path: str) -> bytes | None:
    """The text to run instead of a file's own, if there is one."""
    if not _names or path.rpartition("/")[2] not in _names:
        return None
    patched = _files.get(os.path.realpath(path))
    if patched is None:
        return None
    with open(patched, "rb") as stream:  # noqa: PTH123  pathlib is slow to load
        return stream.read()


def patched_code(code: CodeType) -> CodeType:
    """The module's code, or that of its patched source."""
    source = patched_source(code.co_filename) if code.co_name == "<module>" else None
    if source is None:
        return code
    tree = ast.parse(source, code.co_filename)
    if _PYTEST_NAME in code.co_names:
        # It is loaded: it made this code.
        sys.modules["_pytest.assertion.rewrite"].rewrite_asserts(tree, source, code.co_filename)
    return compile(tree, code.co_filename, "exec", dont_inherit=True)
