# SPDX-License-Identifier: Apache-2.0
"""From the user's command line to what the fork server runs.

Understood: `python [options] script.py …`, `script.py …`, `python -m module …`, `pytest …`,
`python -m pytest …`, the path of a console script written in Python, and a program that was built
with `unsnarl cc`.
"""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NoReturn

from unsnarl.config import find_root
from unsnarl.errors import UsageError
from unsnarl.execution import functions, interpreter
from unsnarl.execution.interpreter import Interpreter
from unsnarl.probes.native import elf

Kind = Literal["script", "module", "pytest", "program"]
PYTHON_NAME = re.compile(r"(python|pypy)[0-9.]*t?$")
PYTEST_NAMES = ("pytest", "py.test")
FLAGS_WITH_VALUE = ("-X", "-W", "--check-hash-based-pycs")
# pip writes '''exec' /path/python "$0" "$@" where the interpreter's path is too long for a shebang.
LONG_SHEBANG = re.compile(rb"""^'''exec'\s+"?([^"\n]+?)"?\s+"\$0" """)


@dataclasses.dataclass(frozen=True)
class Target:
    """The program under examination and how to start it."""

    command: tuple[str, ...]
    kind: Kind
    args: tuple[str, ...]
    python: Interpreter
    flags: tuple[str, ...]
    root: Path
    cwd: Path
    stdin: Path | None = None  # what every run reads; None for nothing
    overlay: tuple[tuple[str, str], ...] = ()  # files, and the patched ones to run in their stead


def parse(command: Sequence[str], cwd: Path, *, force_python: bool = False) -> Target:
    """Understand the command, or say what is wrong with it."""
    if not command:
        raise UsageError(
            "command-missing",
            "there is no command to run",
            "for example: unsnarl hunt -- pytest tests/test_queue.py",
        )
    name = Path(command[0]).name
    if PYTHON_NAME.fullmatch(name):
        found = _find(command[0], cwd)
        flags, kind, args = _python_arguments(command, cwd)
        python = interpreter.resolve(found, force=force_python)
        return _target(command, kind, args, python, flags=flags, cwd=cwd)
    if name in PYTEST_NAMES:
        python = interpreter.resolve(_python_of_pytest(command[0], cwd), force=force_python)
        return _target(command, "pytest", tuple(command[1:]), python, cwd=cwd)
    script = _script(command[0], cwd)
    if elf.is_elf(script):
        _executable(command[0], script)
        elf.check(script)
        args = (str(script), *command[1:])
        return _target(command, "program", args, interpreter.ours(force=force_python), cwd=cwd)
    python = interpreter.resolve(_python_of(script), force=force_python)
    # A script is given as typed, one found on PATH in full: as a shell does, for sys.argv[0].
    args = (command[0] if _is_path(command[0]) else str(script), *command[1:])
    return _target(command, "script", args, python, cwd=cwd)


def _target(
    command: Sequence[str],
    kind: Kind,
    args: tuple[str, ...],
    python: Interpreter,
    *,
    flags: tuple[str, ...] = (),
    cwd: Path,
) -> Target:
    start = cwd
    # A script that lies elsewhere belongs to the project around it.
    if kind == "script" and not (cwd / args[0]).resolve().is_relative_to(cwd.resolve()):
        start = (cwd / args[0]).parent
    file = functions.file_of(args) if kind == "module" else None
    if file is not None and not file.is_relative_to(cwd.resolve()):
        start = file.parent
    return Target(tuple(command), kind, args, python, flags, find_root(start), cwd)


def _python_arguments(
    command: Sequence[str], cwd: Path
) -> tuple[tuple[str, ...], Kind, tuple[str, ...]]:
    """Split `python -X dev -m module …` into the interpreter's own flags and the rest."""
    flags: list[str] = []
    rest = list(command[1:])
    while rest:
        word = rest.pop(0)
        if word == "-m" or (word.startswith("-m") and not word.startswith("--")):
            module = word[2:] or (rest.pop(0) if rest else "")
            if not module:
                break
            # `python -m pytest` too: unlike `pytest`, it has the current folder on its path.
            return tuple(flags), "module", (module, *rest)
        if word == "-" or word.startswith("-c"):
            break
        if not word.startswith("-"):
            _existing(word, cwd)
            return tuple(flags), "script", (word, *rest)
        flags.append(word)
        if word in FLAGS_WITH_VALUE and rest:
            flags.append(rest.pop(0))
    raise UsageError(
        "command-unsupported",
        f"`{' '.join(command)}` names no script and no module",
        "put the code into a file: unsnarl hunt -- python script.py",
    )


def _find(word: str, cwd: Path) -> Path:
    """The file that the shell would run for `word`."""
    if "/" in word:
        return _existing(word, cwd)
    found = shutil.which(word)
    if found is None:
        _not_found(word, "it is not on PATH")
    return Path(found)


def _existing(word: str, cwd: Path) -> Path:
    path = cwd / word
    if not path.exists():
        _not_found(word, f"{path} does not exist")
    if path.is_dir() and not (path / "__main__.py").exists():
        _not_found(word, f"{path} is a directory without __main__.py")
    # Not resolved: a venv's python is a link, and what it is called decides what it is.
    return path


def _not_found(word: str, why: str) -> NoReturn:
    raise UsageError(
        "command-not-found",
        f"cannot run `{word}`: {why}",
        "check the spelling and the directory; the command comes after `--`",
    )


def _executable(word: str, path: Path) -> None:
    if not os.access(path, os.X_OK):
        _not_found(word, f"it is not executable (chmod +x {path})")


def _script(word: str, cwd: Path) -> Path:
    """A script by path, as `python` would take it; else a console script on PATH."""
    if _is_path(word):
        return _existing(word, cwd)
    found = shutil.which(word)
    if found is None:
        _not_found(word, "it is not on PATH")
    return Path(found)


def _is_path(word: str) -> bool:
    return "/" in word or word.endswith((".py", ".pyw"))


def _python_of(script: Path) -> Path:
    """The interpreter of a script: ours for `script.py`, a console script's by its shebang."""
    if script.is_dir() or script.suffix in (".py", ".pyw"):
        return Path(sys.executable)
    named = _shebang(script)
    if named is not None:
        _executable(str(script), script)
        return named
    raise UsageError(
        "command-not-python",
        f"{script} is neither a Python script nor a program built with `unsnarl cc`",
        "name the program itself: unsnarl hunt -- python script.py; what libtool has built is "
        "in .libs/",
    )


def _python_of_pytest(word: str, cwd: Path) -> Path:
    if "/" in word:
        return _python_of(_existing(word, cwd))
    found = shutil.which(word)
    if found is None:
        # unsnarl's own environment may not be activated and have pytest all the same.
        return Path(sys.executable)
    named = _shebang(Path(found))
    if named is None:  # a shim of a version manager: its python is next to it
        return Path(shutil.which("python") or sys.executable)
    return named


def _shebang(script: Path) -> Path | None:
    """The Python interpreter that a script's first lines name, if they do."""
    try:
        with script.open("rb") as file:
            first, second = file.readline(4096), file.readline(4096)
    except OSError as error:
        _not_found(str(script), str(error))
    if not first.startswith(b"#!"):
        return None
    long = LONG_SHEBANG.match(second)
    words = [long.group(1).decode()] if long else first[2:].decode("utf-8", "replace").split()
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    if not words or not PYTHON_NAME.fullmatch(Path(words[0]).name):
        return None
    if "/" in words[0]:
        return Path(words[0])
    found = shutil.which(words[0])
    return Path(found) if found else None
