# SPDX-License-Identifier: Apache-2.0
"""What an executable's own headers say of it: enough to refuse what cannot be run or observed.

header (ELF, class, machine, type) -> program headers (an interpreter: linked dynamically)
                                   -> section headers (at the end: without them the file is cut off)
"""

from __future__ import annotations

import dataclasses
import mmap
import platform
import struct
from collections.abc import Iterator
from pathlib import Path

from unsnarl.errors import UsageError

MAGIC = b"\x7fELF"
# What the probe looks for in its environment (native/probe_c/begin.c).
PROBE = b"UNSNARL_PLAN="
MACHINES = {"x86_64": 62, "aarch64": 183}
NAMES = {3: "i386", 20: "PowerPC", 21: "PowerPC64", 22: "s390x", 40: "ARM", 243: "RISC-V"} | {
    number: name for name, number in MACHINES.items()
}
# From elf.h: ET_EXEC and ET_DYN, ET_REL and ET_CORE, PT_INTERP, ELFCLASS64 and ELFDATA2LSB.
EXECUTABLE, POSITION_INDEPENDENT = 2, 3
KINDS = {1: "an object file", 4: "a core dump"}
INTERPRETER = 3
WIDE, LITTLE = 2, 1
# type, machine, program headers' offset, sections' offset, program headers' size and number, those
# of the sections
HEADER = struct.Struct("<16x2H4x8x2Q4x2x4H")
SEGMENT = struct.Struct("<I4xQ16xQ16x")
# A section's name (in the table of names), its offset and size in the file.
SECTION = struct.Struct("<I20x2Q24x")
NAMES_INDEX = struct.Struct("<62xH")


@dataclasses.dataclass(frozen=True)
class Elf:
    """A 64-bit executable."""

    kind: int
    machine: int
    interpreter: bool
    probe: bool


def is_elf(path: Path) -> bool:
    """Whether the file calls itself one."""
    try:
        with path.open("rb") as file:
            return file.read(4) == MAGIC
    except OSError:
        return False


def check(path: Path) -> None:
    """Refuse a program that cannot be run here, or in which nothing could be observed."""
    elf = _read(path)
    ours = MACHINES.get(platform.machine())
    if elf.machine != ours:
        built = NAMES.get(elf.machine, f"machine {elf.machine}")
        raise _unsupported(path, f"it is built for {built}, and this is {platform.machine()}")
    if elf.kind not in (EXECUTABLE, POSITION_INDEPENDENT):
        raise _unsupported(path, f"it is {KINDS.get(elf.kind, 'no program')}")
    if not elf.interpreter:
        raise UsageError(
            "program-static",
            f"{path} is linked statically (or a library): its calls of libc cannot be seen",
            "link it without -static, with `unsnarl cc` or `unsnarl c++`",
        )
    if not elf.probe:
        raise UsageError(
            "program-without-probe",
            f"{path} is a program that was not built with `unsnarl cc`",
            'build it with the probe: CC="unsnarl cc" CXX="unsnarl c++" make; of a script, name '
            "the Python program itself",
        )


def _read(path: Path) -> Elf:
    try:
        with (
            path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
        ):
            return _parse(path, content)
    # mmap raises ValueError for an empty file.
    except (struct.error, IndexError, ValueError):
        raise _unsupported(path, "it is cut off") from None


def _parse(path: Path, content: mmap.mmap) -> Elf:
    if content[4] != WIDE or content[5] != LITTLE:
        width = "a 32-bit" if content[4] != WIDE else "a big-endian"
        raise _unsupported(path, f"it is {width} program")
    kind, machine, segments, sections, size, number, width, count = HEADER.unpack_from(content)
    found = [*_segments(content, segments, size, number)]
    if max(sections + width * count, *(end for _, end in found), 0) > len(content):
        raise ValueError
    interpreter = any(kind == INTERPRETER for kind, _ in found)
    return Elf(kind, machine, interpreter, content.find(PROBE) >= 0)


def _segments(content: mmap.mmap, at: int, size: int, number: int) -> Iterator[tuple[int, int]]:
    """The kind of each segment, and where it ends in the file."""
    for index in range(number):
        kind, offset, length = SEGMENT.unpack_from(content, at + index * size)
        yield kind, offset + length


def section(path: Path, name: str) -> bytes:
    """What a section has; nothing if there is none."""
    try:
        with (
            path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
        ):
            return _section(content, name.encode())
    except (OSError, struct.error, IndexError, ValueError, OverflowError):
        return b""


def _section(content: mmap.mmap, name: bytes) -> bytes:
    _, _, _, at, _, _, size, number = HEADER.unpack_from(content)
    (index,) = NAMES_INDEX.unpack_from(content)
    every = [SECTION.unpack_from(content, at + one * size) for one in range(number)]
    names = every[index][1]
    for title, offset, length in every:
        start = names + title
        if content[start : start + len(name) + 1] == name + b"\0":
            return content[offset : offset + length]
    return b""


def _unsupported(path: Path, why: str) -> UsageError:
    return UsageError(
        "program-unsupported",
        f"{path} cannot be run: {why}",
        "build it for this machine, with `unsnarl cc` or `unsnarl c++`",
    )
