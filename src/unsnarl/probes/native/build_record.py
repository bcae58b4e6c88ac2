# SPDX-License-Identifier: Apache-2.0
"""How a program was built, kept in the program itself, so that a patched one can be built like it.

    unsnarl cc -c a.c        -->  a.o    .unsnarl.build: {"step": "compile", "words": ["-c", "a.c"]}
    unsnarl cc a.o -o a      -->  a      .unsnarl.build: the above, {"step": "program", ...}

The compiler's assembler reads the record from memory: no file is left anywhere. The environment and
compilations of sources of the system are not recorded.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Sequence
from pathlib import Path

from unsnarl.probes.native import elf
from unsnarl.probes.native.arguments import Arguments, expanded, inputs

SECTION = ".unsnarl.build"
# "0" for a program that shall not say how it was built.
VARIABLE = "UNSNARL_CC_BUILD"
# What is below these belongs to no project.
SYSTEM = ("/usr/", "/opt/", "/nix/", "/gnu/")


@dataclasses.dataclass(frozen=True)
class BuildStep:
    """One call of the wrapper.

    Attributes:
        step: "compile", or "program": what links, and may compile, too.
        language: "cc" or "c++".
        compiler: The compiler's own words: `ccache gcc`.
        folder: Where it was called.
        words: The arguments, those of response files in their stead.
    """

    step: str
    language: str
    compiler: tuple[str, ...]
    folder: str
    words: tuple[str, ...]


def recorded(
    language: str, compiler: Sequence[str], words: Sequence[str], asked: Arguments
) -> list[str]:
    """Arguments by which a compiler puts the record of this call into what it makes."""
    if os.environ.get(VARIABLE, "") == "0" or asked.step not in ("compile", "program"):
        return []
    # The assembler's input is not ours alone, or there is none.
    by_compiler = asked.compiles and not asked.assembles and not _stops_early(words)
    if asked.step == "compile" and not by_compiler:
        return []
    every = tuple(expanded(words))
    if _of_the_system(every):
        return []
    step = BuildStep(asked.step, language, tuple(compiler), str(Path.cwd()), every)
    # Where sources are compiled and linked at once, every object has it.
    how = ("-Xassembler",) if by_compiler else ("-x", "assembler")
    file = _in_memory(_assembly(json.dumps(dataclasses.asdict(step))))
    return [*how, file] if file else []


def _stops_early(words: Sequence[str]) -> bool:
    return not {"-E", "-M", "-MM", "-fsyntax-only", "-S"}.isdisjoint(words)


def _of_the_system(words: Sequence[str]) -> bool:
    code = [Path.cwd() / one.name for one in inputs(words) if one.is_code]
    return bool(code) and all(str(path).startswith(SYSTEM) for path in code)


def _assembly(record: str) -> str:
    """A section of its own that is not loaded, and then whatever was before."""
    text = record.replace("\\", "\\\\").replace('"', '\\"')
    stack = '.section .note.GNU-stack,"",%progbits'
    return f'.pushsection {SECTION},"",%progbits\n.asciz "{text}"\n{stack}\n.popsection\n'


def _in_memory(text: str) -> str:
    """A file that lives as long as the compiler, which inherits it; "" if there cannot be one."""
    try:
        descriptor = os.memfd_create("unsnarl-build", 0)
        os.write(descriptor, text.encode())
    except OSError:
        return ""
    path = f"/proc/self/fd/{descriptor}"
    return path if Path(path).exists() else ""


def read(program: Path) -> list[BuildStep]:
    """The calls that made a program, as far as they are known, without repetitions."""
    found: dict[BuildStep, None] = {}
    for text in elf.section(program, SECTION).split(b"\0"):
        try:
            fields = json.loads(text or b"null")
            step = BuildStep(
                str(fields["step"]),
                str(fields["language"]),
                tuple(map(str, fields["compiler"])),
                str(fields["folder"]),
                tuple(map(str, fields["words"])),
            )
        except (ValueError, TypeError, KeyError):
            continue
        found[step] = None
    return list(found)
