# SPDX-License-Identifier: Apache-2.0
"""The sites of a program built with `unsnarl cc`: every call of the probe, with its source line.

A site is the return address of a call, from the program's start, in units of 4 bytes
(native/probe_c/probe.h). They are listed once, before the first run, by binutils.
"""

from __future__ import annotations

import re
import subprocess
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from unsnarl.probes.python.launcher import TargetError

UNIT = 4
START, END, IMAGE_END = "__executable_start", "etext", "_end"
READS = re.compile(r"__tsan_(?:unaligned_)?(?:volatile_)?(?:read|vptr_read)")
WRITES = re.compile(r"__tsan_(?:unaligned_)?(?:volatile_)?(?:write|vptr_update)")
ATOMICS = re.compile(r"__tsan_(?:atomic|mem|read_write|unaligned_read_write)")
WAITS = re.compile(r"(?:pthread|sem|mtx|cnd|thrd)_|sleep$|usleep$|sched_yield$")
SYSTEM = "/usr/"
DATA = tuple("bBdDrRgGsSuV")
_FUNCTION = re.compile(r"^([0-9a-f]+) <([^>]+)>:$")
_CALL = re.compile(r"^\s*([0-9a-f]+):\s.*\b(?:call|jmp|bl?)q?\s.*<([A-Za-z_0-9]+)(?:@\w+)?>")
_INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s")
_INLINED = " (discriminator"


class Call(NamedTuple):
    """A call of the probe: where it returns to, in which function, and what it is about."""

    back: int
    function: int
    kind: str


class Source(NamedTuple):
    """Where an address comes from."""

    function: str
    file: str
    line: int


class Program:
    """What binutils say of an executable."""

    def __init__(self, path: Path) -> None:
        self._path = path
        symbols = self._symbols()
        if END not in symbols or "uns_rt" not in symbols:
            raise TargetError("nothing-instrumented", f"{path} is stripped: its symbols are needed")
        self.start = symbols.get(START, 0)
        self.first = self.offset = 0  # of its sites and of its variables, among those of others
        self.limit = (symbols[END] - self.start) // UNIT + 1
        self.image = symbols.get(IMAGE_END, symbols[END]) - self.start

    def codes(self) -> dict[str, Any]:
        """The content of codes.json."""
        calls, functions = self._calls()
        sources = self._sources([call.back - 1 for call in calls])
        if not any(source.line for source in sources):
            raise TargetError(
                "nothing-instrumented", f"{self._path} has no debug information: build it with -g"
            )
        blocks: dict[int, list[tuple[Call, Source]]] = {}
        for call, source in zip(calls, sources, strict=True):
            if not source.line:
                continue  # of the probe itself, or of a library
            blocks.setdefault(call.function, []).append((call, source))
        codes = [self._code(start, functions[start], found) for start, found in blocks.items()]
        return {
            "version": 1,
            "watermark": self.first + self.limit,
            "modules": len({one.file for one in sources if one.line and _is_source(one.file)}),
            "probes": sum(len(found) for found in blocks.values()),
            "codes": codes,
            "symbols": list(self._variables()),
        }

    def _code(self, start: int, end: int, found: Sequence[tuple[Call, Source]]) -> dict[str, Any]:
        base = self._site(start)
        outer = found[0][1]
        entries = [
            (self._site(call.back) - base, call.kind, None, line, line, 0, 0, function, file)
            for call, (function, file, line) in found
        ]
        return {
            "base": base,
            "size": self._site(end) - base + 1,
            "file": outer.file,
            "function": outer.function,
            "line": min(source.line for _, source in found),
            "sites": entries,
        }

    def _site(self, address: int) -> int:
        return self.first + (address - self.start) // UNIT

    def _variables(self) -> Iterator[tuple[int, int, str]]:
        """The global and static variables: where they begin, their size, their name."""
        for line in self._tool("nm", "-S", "-C", str(self._path)):
            row = line.split(maxsplit=3)
            if len(row) == 4 and row[2] in DATA:
                yield self.offset + int(row[0], 16) - self.start, int(row[1], 16), row[3]

    def _symbols(self) -> dict[str, int]:
        rows = (line.split() for line in self._tool("nm", str(self._path)))
        return {row[2]: int(row[0], 16) for row in rows if len(row) == 3}

    def _calls(self) -> tuple[list[Call], dict[int, int]]:
        """The calls, and the functions that have some: their starts and ends."""
        calls: list[Call] = []
        ends: dict[int, int] = {}
        start, pending = 0, ""
        for line in self._tool("objdump", "-d", "--no-show-raw-insn", str(self._path)):
            header = _FUNCTION.match(line)
            if header:
                start, pending = int(header[1], 16), ""
                continue
            instruction = _INSTRUCTION.match(line)
            if not instruction:
                continue
            at = int(instruction[1], 16)
            ends[start] = at
            if pending:
                calls.append(Call(at, start, pending))
            found = _CALL.match(line)
            pending = _kind(found[2]) if found else ""
        return calls, ends

    def _sources(self, addresses: Sequence[int]) -> list[Source]:
        """The source line of each address: the innermost one that is not a system header's."""
        text = "\n".join(map(hex, addresses))
        lines = self._tool("addr2line", "-e", str(self._path), "-f", "-i", "-C", "-a", text=text)
        found = [[_source(*pair) for pair in batched(block)] for block in _blocks(lines)]
        return [self._chosen(frames) for frames in found]

    def _chosen(self, frames: Sequence[Source]) -> Source:
        return next((one for one in frames if not one.file.startswith(SYSTEM)), frames[0])

    def _tool(self, *command: str, text: str = "") -> list[str]:
        try:
            done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            message = f"{command[0]} is needed to list the sites of a program (package binutils)"
            raise TargetError("tool-missing", message) from None
        return done.stdout.splitlines()


def add_places(found: array[int], codes: Iterable[dict[str, Any]]) -> None:
    """Put down by site the first one of its place: a function may be compiled into others."""
    first: dict[tuple[str, ...], int] = {}
    for code in codes:
        for offset, kind, _, line, *_, function, file in code["sites"]:
            site = code["base"] + offset
            found[site] = first.setdefault((file, function, str(line), kind), site)


def _kind(name: str) -> str:
    for kind, pattern in (("read", READS), ("write", WRITES), ("atomic", ATOMICS), ("sync", WAITS)):
        if pattern.match(name) or (kind == "sync" and pattern.search(name)):
            return kind
    return ""


def _blocks(lines: Iterable[str]) -> Iterator[list[str]]:
    """Of addr2line -a: after each address, pairs of a function and a place, innermost first."""
    block: list[str] | None = None
    for line in lines:
        if re.fullmatch(r"0x[0-9a-f]+", line):
            if block is not None:
                yield block
            block = []
        elif block is not None:
            block.append(line)
    if block is not None:
        yield block


def _is_source(file: str) -> bool:
    """Not a header: what is in those is compiled into others."""
    return file.endswith((".c", ".cc", ".cpp", ".cxx", ".c++", ".C"))


def batched(block: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The lines of a block two by two."""
    return zip(block[::2], block[1::2], strict=False)


def _source(function: str, place: str) -> Source:
    file, _, line = place.partition(_INLINED)[0].rpartition(":")
    return Source(_plain(function), file, int(line) if line.isdigit() else 0)


def _plain(function: str) -> str:
    """Without arguments: `Account::deposit(int)` is Account::deposit."""
    return function.partition("(")[0]
