# SPDX-License-Identifier: Apache-2.0
"""What a compiler's command line asks for: only as much as decides which flags are added to it.

The words themselves are handed on as they are: what is not understood here is left to the compiler.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import Literal, NamedTuple

# What is made of the inputs. "nothing": there are none, the compiler is only asked for something.
Step = Literal["nothing", "compile", "program", "library", "object"]

# Their value may be the next word.
WITH_VALUE = re.compile(
    r"-(?:[oxILlDUABTuze]|M[FTQJ]|include|imacros|isystem|idirafter|iquote|iprefix|isysroot"
    r"|iwithprefix(?:before)?|imultilib|X(?:linker|assembler|preprocessor|clang)|mllvm|target|arch"
    r"|aux-info|dump(?:base|base-ext|dir)|wrapper|specs|-param|-sysroot)"
)
ONLY_COMPILE = frozenset(
    ["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "--preprocess", "--compile", "--assemble"]
)
STATIC = frozenset(["-static", "--static", "-static-pie"])
LIBRARY = frozenset(["-shared", "--shared", "-Wl,-shared", "-dynamiclib"])
RELOCATABLE = frozenset(["-r", "-Wl,-r", "-Wl,--relocatable", "-Wl,-i"])
BARE = frozenset(["-nostdlib", "--no-standard-libraries", "-nodefaultlibs", "-nolibc"])
CODE = re.compile(r"\.(?:c|i|ii|cc|cp|cxx|cpp|CPP|c\+\+|C|S|sx|m|mi|mm|M|mii|ll|bc|h|hh|hpp|H|hxx)")
ASSEMBLY = re.compile(r"\.(?:s|S|sx|asm)")
SYNTAXES = ("-masm=intel", "-masm=att")
SANITIZE = re.compile(r"-f(no-)?sanitize=(.+)")
# At most so deep may a response file name another; gcc stops at 2000 files.
DEPTH = 20


class Arguments(NamedTuple):
    """A command line of gcc or clang, as far as it matters here.

    Attributes:
        compiles: Some input is code, not only objects and libraries.
        assembles: The assembler's input is not only what the compiler writes: some of it is the
            user's, in another syntax, or comes by a pipe.
        bare: Without the libraries that every program has: the probe cannot be in it.
        sanitizers: Those that are switched on, by the user's own words.
        refused: The user has switched ThreadSanitizer's calls off.
    """

    step: Step
    compiles: bool
    assembles: bool
    static: bool
    bare: bool
    narrow: bool
    sanitizers: frozenset[str]
    refused: bool


class Input(NamedTuple):
    """A word of a command line that names what is compiled or linked."""

    at: int
    name: str
    is_code: bool
    is_assembly: bool


def read(words: Sequence[str]) -> Arguments:
    """Understand a command line, its response files included."""
    plain = [*expanded(words)]
    found = inputs(plain)
    options = frozenset(plain)
    on, off = _sanitizers(plain)
    return Arguments(
        step=_step(options) if found else "nothing",
        compiles=any(one.is_code for one in found),
        assembles=any(one.is_assembly for one in found)
        or "-pipe" in options
        or _last(plain, SYNTAXES) == SYNTAXES[0],
        static=bool(options & STATIC),
        bare=bool(options & BARE),
        narrow=_last(plain, ("-m32", "-mx32", "-m64")) in ("-m32", "-mx32"),
        sanitizers=on,
        refused=bool(off & {"thread", "all"}),
    )


def _step(options: frozenset[str]) -> Step:
    if options & ONLY_COMPILE:
        return "compile"
    if options & RELOCATABLE:
        return "object"
    return "library" if options & LIBRARY else "program"


def expanded(words: Iterable[str], depth: int = DEPTH) -> Iterator[str]:
    """The words with those of response files in their stead."""
    for word in words:
        inner = _response(word[1:]) if word.startswith("@") and depth else None
        if inner is None:
            yield word
        else:
            yield from expanded(inner, depth - 1)


def _response(name: str) -> list[str] | None:
    """The words of a response file; None if there is none, as the compiler has it."""
    try:
        text = Path(name).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    try:
        return shlex.split(text)
    except ValueError:  # a quote is not closed
        return text.split()


def inputs(words: Sequence[str]) -> list[Input]:
    """The files that a command line names as inputs, libraries included, response files not."""
    found: list[Input] = []
    language = "none"
    rest = iter(enumerate(words))
    for index, word in rest:
        value = next(rest, (0, ""))[1] if WITH_VALUE.fullmatch(word) else ""
        if word == "-x" or (word.startswith("-x") and not value):
            language = value or word[2:]
        # A library is an input: `cc -lfoo` links.
        elif word.startswith("-l"):
            found.append(Input(index, word, is_code=False, is_assembly=False))
        elif not word.startswith("-") or word == "-":
            found.append(Input(index, word, _is_code(word, language), _is_assembly(word, language)))
    return found


def _is_code(word: str, language: str) -> bool:
    if language == "none":
        return bool(CODE.fullmatch(PurePath(word).suffix))
    return language != "assembler"


def _is_assembly(word: str, language: str) -> bool:
    if language == "none":
        return bool(ASSEMBLY.fullmatch(PurePath(word).suffix))
    return language.startswith("assembler")


def _sanitizers(words: Sequence[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Those switched on and those switched off, by the last word about each."""
    on: set[str] = set()
    off: set[str] = set()
    for match in filter(None, map(SANITIZE.fullmatch, words)):
        names = set(match[2].split(","))
        if not match[1]:
            on, off = on | names, off - names - {"all"}
        else:
            on, off = (set() if "all" in names else on - names), off | names
    return frozenset(on), frozenset(off)


def _last(words: Sequence[str], of: Sequence[str]) -> str:
    return next((word for word in reversed(words) if word in of), "")
