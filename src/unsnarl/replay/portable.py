# SPDX-License-Identifier: Apache-2.0
"""Paths and commands without what only this machine has: for files that others will read."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path, PurePath

PACKAGES = ("site-packages", "dist-packages")
PYTHON = re.compile(r"(python|pypy)[0-9.]*t?$")


def portable_file(file: str) -> str:
    """A source file: as it is below the project, else from where packages are installed."""
    path = PurePath(file)
    for name in PACKAGES:
        if name in path.parts:
            at = len(path.parts) - path.parts[::-1].index(name)
            return "/".join(path.parts[at:])
    return "/".join(path.parts[-2:]) if path.is_absolute() else path.as_posix()


def portable_word(word: str, cwd: Path, root: Path) -> str:
    """An argument of a command: paths below the project are relative to where it is run."""
    path, separator, node = word.partition("::")
    option, equals, value = path.partition("=")
    if equals and option.startswith("-") and PurePath(value).is_absolute():
        return f"{option}={portable_word(value, cwd, root)}{separator}{node}"
    if not PurePath(path).is_absolute():
        return word
    below = Path(path).is_relative_to(root) or Path(path).is_relative_to(cwd)
    shown = os.path.relpath(path, cwd) if below else portable_file(path)
    return f"{shown}{separator}{node}"


def portable_command(command: Sequence[str], cwd: Path, root: Path) -> tuple[str, ...]:
    """A command as one would type it elsewhere: `python`, not that of one environment."""
    first, *rest = command
    name = PurePath(first).name
    if PurePath(first).is_absolute() and PYTHON.fullmatch(name):
        first = "python"
    elif PurePath(first).is_absolute() and name in ("pytest", "py.test"):
        first = "pytest"
    return tuple(portable_word(word, cwd, root) for word in (first, *rest))
