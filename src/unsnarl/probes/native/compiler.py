# SPDX-License-Identifier: Apache-2.0
"""`unsnarl cc` and `unsnarl c++`: the compiler, with the probe in it.

The compiler's own -fsanitize=thread puts a call before every access. What it calls is ours:

    gcc    links what it finds as libtsan.a in the folder that it is shown: `static/` for programs,
           `shared/` for libraries, where there is nothing in it. Its assembler puts the fast path
           where the calls are (native/probe_c/inline.s)
    clang  is given the calls behind its driver's back, so that it links no runtime; programs are
           given the archive

Libraries need libunsnarl_c.so, unless a program that has the archive in it loads them.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from unsnarl.errors import ToolError, UnsnarlError, UsageError, print_error
from unsnarl.probes.native import arguments as command_lines
from unsnarl.probes.native import build_record
from unsnarl.probes.native.arguments import Arguments

DEFAULTS = {"cc": ("gcc", "cc", "clang"), "c++": ("g++", "c++", "clang++")}
VARIABLES = {"cc": "UNSNARL_CC", "c++": "UNSNARL_CXX"}
LIBRARY = "libtsan.a"
# What compilers leave as calls of libc: the linker shows them to native/probe_c/memory/strings.c.
MEMORY = ("memcpy", "memmove", "memset", "memcmp")
TEXTS = ("strlen", "strcpy", "strncpy", "strcat", "strcmp", "strncmp")
FORTIFIED = ("__memcpy_chk", "__memmove_chk", "__memset_chk", "__strcpy_chk")
WRAPS = [f"-Wl,--wrap={name}" for name in (*MEMORY, *TEXTS, *FORTIFIED)]
# gcc makes instructions of those whose size it knows, unseen. (clang leaves the calls.)
LEFT_AS_CALLS = [f"-fno-builtin-{name}" for name in MEMORY]
# A call that is a jump returns to its caller's caller: that would be its site.
NO_JUMPS = "-fno-optimize-sibling-calls"
# The compiler in a command such as `ccache x86_64-linux-gnu-gcc-12 -m64`.
COMPILER = re.compile(r"(?:.*-)?(?:gcc|g\+\+|cc|c\+\+|clang(?:\+\+)?|c[89]9)(?:-[0-9.]+)?")
# They put calls or memory of their own where ours must be.
RIVALS = frozenset(("address", "hwaddress", "memory", "leak", "kernel-address", "dataflow"))
GCC = ("-g", "-fsanitize=thread", NO_JUMPS, *LEFT_AS_CALLS)
# Without the last one the read of `n++` is not reported.
CLANG = ("-fsanitize=thread", "-mllvm", "-tsan-instrument-read-before-write=1")
# Calls at the entries and exits of functions, which only sketches of runs need.
GCC_FUNCTIONS = "--param=tsan-instrument-func-entry-exit={:d}"
CLANG_FUNCTIONS = "-tsan-instrument-func-entry-exit={:d}"
# ... and of basic blocks.
GCC_BLOCKS = "-fsanitize-coverage=trace-pc"
CLANG_BLOCKS = ("-fsanitize-coverage-type=2", "-fsanitize-coverage-trace-pc")
# ... in the order of the source: a loop goes back where the next block is not behind the last
# (native/probe_c/functions.c). clang leaves out blocks that others imply.
GCC_LOOPS = ("-fno-reorder-blocks", "-fno-reorder-blocks-and-partition")
CLANG_LOOPS = ("-fsanitize-coverage-no-prune", "-mllvm", "-disable-block-placement")
# Words of the wrapper, and the environment that says the same: build systems check their words.
EXTRAS = {
    "--functions": "UNSNARL_CC_FUNCTIONS",
    "--blocks": "UNSNARL_CC_BLOCKS",
    "--loops": "UNSNARL_CC_LOOPS",
}
IMPLIED = {"--loops": ("--functions", "--blocks")}
OFF = ("", "0")
INLINE, INLINED_ON = "inline.s", "x86_64"
# Of the linker: what libraries are to find in a program; which of a library's calls are ours.
EXPORTS, INTERCEPTORS = "program.list", "library.wraps"
# std::thread and std::condition_variable call libc's functions from the standard library: in a
# process that is not ours only a copy of its own lets an instrumented library wrap those, too.
STANDARD_LIBRARY = "-static-libstdc++"


def folder() -> Path:
    """Where the probe's archives are."""
    found = importlib.util.find_spec("unsnarl._core")
    if found is None or found.origin is None:
        raise ToolError("build-missing", "the native core is not there", "reinstall unsnarl")
    return Path(found.origin).parent / "cc"


def command(language: str, words: Sequence[str], named: Sequence[str] = ()) -> list[str]:
    """The compiler's command line for these arguments; `named` is the compiler, if known."""
    compiler = [*named] or _compiler(language)
    extras, words = _extras(words)
    asked = command_lines.read(words)
    if asked.step == "nothing":
        return [*compiler, *words]
    _check(asked)
    own_copy = language == "c++" and asked.step == "library" and not asked.refused
    words = [*words, STANDARD_LIBRARY] if own_copy else words
    if is_clang(compiler):
        return [*compiler, *_clang_flags(asked, extras), *words, *_clang_last(asked)]
    return [*compiler, *_gcc_flags(asked, extras), *words]


def _extras(words: Sequence[str]) -> tuple[frozenset[str], list[str]]:
    """The words that are ours, and those of the compiler."""
    named = {word for word, name in EXTRAS.items() if os.environ.get(name, "") not in OFF}
    named |= EXTRAS.keys() & set(words)
    more = {other for word in named for other in IMPLIED.get(word, ())}
    return frozenset(named | more), [word for word in words if word not in EXTRAS]


def run(language: str, words: Sequence[str]) -> NoReturn:
    """Become the compiler."""
    if not (folder() / "static" / LIBRARY).exists():
        raise ToolError("build-missing", f"{folder()} has no {LIBRARY}", "reinstall unsnarl")
    line = command(language, words)
    os.execvp(line[0], [*line, *_record(language, words)])


def _record(language: str, words: Sequence[str]) -> list[str]:
    """What puts the record of this call into what it makes (build_record.py)."""
    compiler = _compiler(language)
    asked = command_lines.read(_extras(words)[1])
    # clang's own assembler takes no further file, and what was switched off stays untouched.
    if asked.refused or (is_clang(compiler) and asked.compiles):
        return []
    return build_record.recorded(language, compiler, words, asked)


def become(language: str, words: Sequence[str]) -> int:
    """`run` as a command of its own: gives the exit code of what went wrong."""
    try:
        run(language, words)
    except UnsnarlError as error:
        print_error(error)
        return error.exit_code


def cc() -> int:
    """The command `unsnarl-cc`, for build systems that want one word."""
    return become("cc", sys.argv[1:])


def cxx() -> int:
    """The command `unsnarl-c++`."""
    return become("c++", sys.argv[1:])


def is_clang(compiler: Sequence[str]) -> bool:
    """Whether the command is clang: by its name, else by what it links to, else by its word."""
    name = next((word for word in compiler if COMPILER.fullmatch(Path(word).name)), compiler[0])
    path = Path(shutil.which(name) or name)
    for name in (path.name, path.resolve().name):
        if "clang" in name:
            return True
        if "gcc" in name or "g++" in name:
            return False
    import subprocess  # noqa: PLC0415  slow to load, and seldom needed

    asked = [*compiler, "--version"]
    return "clang" in subprocess.run(asked, capture_output=True, text=True, check=False).stdout


def _compiler(language: str) -> list[str]:
    named = shlex.split(os.environ.get(VARIABLES[language], ""))
    for words in (named,) if named else ([word] for word in DEFAULTS[language]):
        if shutil.which(words[0]):
            return words
    raise UsageError(
        "command-not-found",
        f"there is no compiler called {' '.join(named) or ', '.join(DEFAULTS[language])}",
        f"install one, or name it: {VARIABLES[language]}=…",
    )


def _check(asked: Arguments) -> None:
    rivals = sorted(asked.sanitizers & RIVALS)
    if rivals and not asked.refused:
        raise UsageError(
            "compiler-conflict",
            f"-fsanitize={rivals[0]} and the probe cannot be in one program",
            "build without it for a hunt, or with the plain compiler",
        )
    if asked.narrow:
        raise UsageError(
            "compiler-conflict",
            "there is no probe for 32-bit programs",
            "build for 64 bits, or with the plain compiler",
        )
    if asked.static and asked.step == "program" and not asked.refused:
        raise UsageError(
            "program-static",
            "a statically linked program cannot be observed: its calls of libc cannot be seen",
            "link it without -static; the probe itself is linked statically either way",
        )


def _gcc_flags(asked: Arguments, extras: frozenset[str]) -> list[str]:
    calls = [*GCC, *_inline(asked), GCC_FUNCTIONS.format("--functions" in extras)]
    if "--blocks" in extras and not asked.refused:
        calls += [GCC_BLOCKS, *(GCC_LOOPS if "--loops" in extras else ())]
    if asked.step == "compile":
        return calls
    if asked.refused or (asked.bare and asked.step == "program"):
        return ["-g"]
    kind = folder() / ("static" if asked.step == "program" else "shared")
    ours = ["-static-libtsan", f"-B{kind}", f"-L{kind}"]
    return [*calls, *WRAPS, *ours, *_link_flags(asked)]


def _inline(asked: Arguments) -> list[str]:
    """Assembly that somebody wrote may have a `call` of its own meaning."""
    if not asked.compiles or asked.assembles or os.uname().machine != INLINED_ON:
        return []
    return ["-Xassembler", str(folder() / INLINE)]


def _clang_flags(asked: Arguments, extras: frozenset[str]) -> list[str]:
    if asked.refused or (asked.bare and asked.step == "program"):
        return ["-g"]
    flags = ["-g", NO_JUMPS] if asked.compiles else []
    functions = ("-mllvm", CLANG_FUNCTIONS.format("--functions" in extras))
    blocks = CLANG_BLOCKS if "--blocks" in extras else ()
    loops = CLANG_LOOPS if "--loops" in extras else ()
    for word in (*CLANG, *functions, *blocks, *loops) if asked.compiles else ():
        flags += ["-Xclang", word]
    if asked.step not in ("program", "library"):
        return flags
    flags += [*WRAPS, *_link_flags(asked)]
    if asked.step == "program":
        archive = str(folder() / "static" / LIBRARY)
        # All of it: it comes before the program's objects, when nothing refers to its members yet.
        flags += ["-Wl,--whole-archive", archive, "-Wl,--no-whole-archive", "-ldl", "-lpthread"]
    return flags


def _clang_last(asked: Arguments) -> list[str]:
    """The user's own -fsanitize=thread would bring the runtime that ours stands in for."""
    return ["-fno-sanitize=thread"] if "thread" in asked.sanitizers else []


def _link_flags(asked: Arguments) -> list[str]:
    """A library has no probe in it: it needs the shared one, or finds that of its program."""
    if asked.step == "program":
        # Exported, so that libraries find the program's probe before the shared one
        # (docs/internals/native-probe.md).
        return [f"-Wl,--dynamic-list={folder() / EXPORTS}"]
    if asked.step != "library":
        return []
    package = folder().parent
    # Even if the user's --as-needed would drop it: libraries are found by this entry
    # (binaries/finding.py) and recognised by their build id (native/probe_c/modules.c).
    needed = "-Wl,--push-state,--no-as-needed,-lunsnarl_c,-lunsnarl_rt,--pop-state"
    wraps = f"-Wl,@{folder() / INTERCEPTORS}"
    return [f"-L{package}", f"-Wl,-rpath,{package}", "-Wl,--build-id", wraps, needed]
