# SPDX-License-Identifier: Apache-2.0
"""`unsnarl cc` and `unsnarl c++`: the compiler, with the probe in it.

The compiler's own -fsanitize=thread puts a call before every access. What it calls is ours: gcc is
shown a folder in which our archive is called libtsan.a; clang is told to link no runtime at all.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from unsnarl.errors import ToolError, UsageError

DEFAULTS = {"cc": ("gcc", "cc", "clang"), "c++": ("g++", "c++", "clang++")}
VARIABLES = {"cc": "UNSNARL_CC", "c++": "UNSNARL_CXX"}
LIBRARY = "libtsan.a"
# Of the linker: what libraries are to find in a program; which of a library's calls are ours.
EXPORTS, WRAPS = "program.list", "library.wraps"
# std::thread and std::condition_variable call libc's functions from the standard library: in a
# process that is not ours only a copy of its own lets an instrumented library wrap those, too.
STANDARD_LIBRARY = "-static-libstdc++"


def folder() -> Path:
    """Where the probe's archive is."""
    from unsnarl import _core  # noqa: PLC0415  not for --help

    return Path(_core.__file__).parent / "cc"


def command(language: str, arguments: Sequence[str]) -> list[str]:
    """The compiler's command line for these arguments."""
    compiler = _compiler(language)
    flags = _clang_flags(arguments) if "clang" in Path(compiler).name else _gcc_flags(arguments)
    if language == "c++" and "-shared" in arguments:
        flags.append(STANDARD_LIBRARY)
    return [compiler, *flags, *arguments]


def run(language: str, arguments: Sequence[str]) -> NoReturn:
    """Become the compiler."""
    if not (folder() / LIBRARY).exists():
        raise ToolError("build-missing", f"{folder() / LIBRARY} is not there", "reinstall unsnarl")
    words = command(language, arguments)
    os.execvp(words[0], words)


def _compiler(language: str) -> str:
    named = os.environ.get(VARIABLES[language])
    for word in (named,) if named else DEFAULTS[language]:
        if shutil.which(word):
            return word
    raise UsageError(
        "command-not-found",
        f"there is no compiler called {named or ', '.join(DEFAULTS[language])}",
        f"install one, or name it: {VARIABLES[language]}=…",
    )


def _gcc_flags(arguments: Sequence[str]) -> list[str]:
    flags = ["-g", "-fsanitize=thread", "--param=tsan-instrument-func-entry-exit=0"]
    if "-c" in arguments or "-S" in arguments or "-E" in arguments:
        return flags
    flags += ["-static-libtsan", f"-B{folder()}", f"-L{folder()}"]
    return [*flags, *_link_flags(arguments)]


def _clang_flags(arguments: Sequence[str]) -> list[str]:
    # Without the last one the read of `n++` is not told of.
    flags = ["-g", "-fsanitize=thread", "-mllvm", "-tsan-instrument-func-entry-exit=0"]
    flags += ["-mllvm", "-tsan-instrument-read-before-write=1"]
    if "-c" in arguments or "-S" in arguments or "-E" in arguments:
        return flags
    flags.append("-fno-sanitize-link-runtime")
    if "-shared" not in arguments:
        flags.append(f"-Wl,--whole-archive,{folder() / LIBRARY},--no-whole-archive")
        flags += ["-ldl", "-lpthread"]
    return [*flags, *_link_flags(arguments)]


def _link_flags(arguments: Sequence[str]) -> list[str]:
    """A library has no probe in it: it needs the shared one, or finds that of its program."""
    if "-shared" not in arguments:
        return [f"-Wl,--dynamic-list={folder() / EXPORTS}"]
    package = folder().parent
    needed = "-Wl,--push-state,--no-as-needed,-lunsnarl_c,--pop-state"
    wraps = f"-Wl,@{folder() / WRAPS}"
    return [f"-L{package}", f"-Wl,-rpath,{package}", "-Wl,--build-id", wraps, needed]
