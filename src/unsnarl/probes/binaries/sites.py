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
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from unsnarl.model.cpp_names import C_SOURCES, plain
from unsnarl.probes.binaries.columns import Columns
from unsnarl.probes.errors import TargetError

# No two calls return to addresses that are nearer (UNS_C_UNIT in native/probe_c/probe.h).
UNIT = 4
START, END, IMAGE_END = "__executable_start", "etext", "_end"
READS = re.compile(r"__tsan_(?:unaligned_)?(?:volatile_)?(?:read(?!_write)|vptr_read)")
WRITES = re.compile(r"__tsan_(?:unaligned_)?(?:volatile_)?(?:write|vptr_update)")
ATOMICS = re.compile(
    r"__tsan_(?:atomic|mem|(?:unaligned_)?(?:volatile_)?read_write)|__wrap_(?:__)?(?:mem|str)"
)
WAITS = re.compile(
    r"(?:pthread|sem|mtx|cnd|thrd)_|call_once$|__cxa_guard_|(?:clock_nano|nano|u|)sleep$|sched_yield$"
    r"|(?:read|write)v?$|(?:recv|send)(?:from|to|msg|)$|accept4?$|connect$|p?poll$|p?select$"
    r"|epoll_p?wait$|wait(?:pid|id|4|)$|pause$|sig(?:wait|waitinfo|timedwait|suspend)$|syscall$"
    # Waits inside the C++ library are attributed to the line that called it.
    r"|_ZNSt(?:18condition_variable|6thread|28__atomic_futex_unsigned_base|11this_thread)"
    r"|msg(?:rcv|snd)$|semop$|flock$|lockf$|system$|pclose$|getaddrinfo$"
    r"|fgets$|fread$|f?getc$|getchar$|getline$|(?:__)?getdelim$"
)
FREES = re.compile(r"(?:free|realloc|reallocarray|_Zd[la]Pv\w*)$")
ALLOCATES = re.compile(r"(?:[mc]alloc|memalign|aligned_alloc|posix_memalign|_Zn[wa]m\w*)$")
# Calls that are evidence if they are refused (native/probe_c/io/files.c).
CALLS = re.compile(r"(?:access|fopen(?:64)?|mkdir|open(?:64|at|dir)?|rename|rmdir|unlink)$")
BYTES = re.compile(r"__tsan_(?:\w*_)?(?:read|write)(\d+)$")
BITS = re.compile(r"__tsan_atomic(\d+)_")
# The first pattern that matches decides.
KINDS = (
    ("read", READS),
    ("write", WRITES),
    ("atomic", ATOMICS),
    ("free", FREES),
    ("allocate", ALLOCATES),
    ("sync", WAITS),
    ("call", CALLS),
    # Where the program was built with probes for them.
    ("function", re.compile(r"__tsan_func_(?:entry|exit)$")),
    ("block", re.compile(r"__sanitizer_cov_trace_pc$")),
)
WRAP = "__wrap_"
WRAPPED = ("sync", "call")
SYSTEM = "/usr/"
# A call of a function of a system header: what is touched in there is this line's affair.
INTO_HEADER = "header"
HEADER_SITE = 0xFFFFFFFF  # UNS_HEADER_SITE in native/include/unsnarl/rt.h
MANGLED = "_ZTS"  # how the name of a C++ type's own name begins
DATA = tuple("bBdDrRgGsSuV")
# Bytes of debug information: more would take minutes to read, and names are an extra.
MOST_INFORMATION = 8 << 20
_INFORMATION = re.compile(r" \.debug_info +PROGBITS +\w+ +\w+ (\w+) ")
_FUNCTION = re.compile(r"^([0-9a-f]+) <([^>]+)>:$")
_CALL = re.compile(r"^\s*([0-9a-f]+):\s.*\b(?:call|jmp|bl?)q?\s.*<([A-Za-z_0-9]+)(?:@\w+)?>")
_INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s")
_INLINED = " (discriminator"


class ProbeCall(NamedTuple):
    """A call of the probe: where it returns to, in which function, and what it is about."""

    back: int
    function: int
    kind: str
    size: int = 0  # of what it touches, where that is always the same


class Calls(NamedTuple):
    """What a program calls: the probe, from which functions (starts and ends), and others."""

    probe: list[ProbeCall]
    functions: dict[int, int]
    others: list[tuple[ProbeCall, str]]
    starts: dict[str, int]  # of functions, by name


class Source(NamedTuple):
    """Where an address comes from; the column is 0 if it is not known."""

    function: str
    file: str
    line: int
    column: int = 0


Module = tuple[bytes, int, int, int]  # build id, first site, sites, offset of variables


class Program:
    """What binutils say of an executable."""

    id = b""  # a run knows which program it is

    def __init__(self, path: Path) -> None:
        self.path = path
        symbols = self._symbols()
        if END not in symbols or "uns_rt" not in symbols:
            raise TargetError("program-stripped", f"{path} is stripped: its symbols are needed")
        self.start = symbols.get(START, 0)
        self.first = self.offset = 0  # of its sites and of its variables, among those of others
        self.limit = (symbols[END] - self.start) // UNIT + 1
        self.image = symbols.get(IMAGE_END, symbols[END]) - self.start

    @property
    def module(self) -> Module:
        """How a run knows it."""
        return self.id, self.first, self.limit, self.offset

    @property
    def built(self) -> str:
        """Identifies a build."""
        found = self.path.stat()
        return f"{found.st_size}/{found.st_mtime_ns}"

    def codes(self) -> dict[str, Any]:
        """The content of codes.json."""
        found = self._calls()
        calls, functions = found.probe, found.functions
        sources = self._sources_of(calls)
        if any(is_in_header(source.file) for source in sources):
            more = self._into_headers(found)
            calls, sources = [*calls, *more], [*sources, *more.values()]
        if not any(source.line for source in sources):
            raise TargetError(
                "no-debug-info", f"{self.path} has no debug information: its lines are not known"
            )
        blocks: dict[int, list[tuple[ProbeCall, Source]]] = {}
        for call, source in zip(calls, sources, strict=True):
            if not source.line:
                continue  # of the probe itself, or of a library
            blocks.setdefault(call.function, []).append((call, source))
        codes = [self._code(start, functions[start], block) for start, block in blocks.items()]
        return {
            "version": 1,
            "watermark": self.first + self.limit,
            "modules": len({one.file for one in sources if one.line and _is_source(one.file)}),
            "probes": sum(len(found) for found in blocks.values()),
            "codes": codes,
            "symbols": list(self.variables()),
            "program": str(self.path.absolute()),
            "built": self.built,
        }

    def _code(
        self, start: int, end: int, found: Sequence[tuple[ProbeCall, Source]]
    ) -> dict[str, Any]:
        # No call returns into the first unit of its own function, but the last one of the function
        # before may: without optimisation functions are not aligned.
        base = self.site(start) + 1
        outer = found[0][1]
        entries = [self._entry(base, call, source) for call, source in found]
        return {
            "base": base,
            "size": self.site(end) - base + 1,
            "file": outer.file,
            "function": outer.function,
            "line": min(source.line for _, source in found),
            "sites": entries,
        }

    def _entry(self, base: int, call: ProbeCall, source: Source) -> tuple[object, ...]:
        """As runfile.codes.SiteEntry has it."""
        function, file, line, column = source
        span = (line, line, column, column)
        return self.site(call.back) - base, call.kind, None, *span, function, file, call.size

    def site(self, address: int) -> int:
        """The site whose call returns to an address."""
        return self.first + (address - self.start) // UNIT

    def variables(self) -> Iterator[tuple[int, int, str]]:
        """The global and static variables: where they begin, their size, their name."""
        for line in self.tool("nm", "-S", "-C", str(self.path)):
            row = line.split(maxsplit=3)
            if len(row) == 4 and row[2] in DATA:
                # Without the version of a library's: stderr@GLIBC_2.2.5
                name = row[3].partition("@")[0]
                yield self.offset + int(row[0], 16) - self.start, int(row[1], 16), name

    def _symbols(self) -> dict[str, int]:
        rows = (line.split() for line in self.tool("nm", str(self.path)))
        return {row[2]: int(row[0], 16) for row in rows if len(row) == 3}

    def _calls(self) -> Calls:
        found = Calls([], {}, [], {})
        start, called = 0, ""
        for line in self.tool("objdump", "-d", "--no-show-raw-insn", str(self.path)):
            header = _FUNCTION.match(line)
            if header:
                # A call that ends a function does not return: what follows is not its site.
                start, called = int(header[1], 16), ""
                found.starts[header[2]] = start
                continue
            instruction = _INSTRUCTION.match(line)
            if not instruction:
                continue
            at = int(instruction[1], 16)
            found.functions[start] = at
            if kind := _kind(called):
                found.probe.append(ProbeCall(at, start, kind, _size(called)))
            elif called:
                found.others.append((ProbeCall(at, start, INTO_HEADER), called))
            call = _CALL.match(line)
            called = call[2] if call else ""
        return found

    def _into_headers(self, found: Calls) -> dict[ProbeCall, Source]:
        """The program's own calls of functions that are in system headers, and their lines."""
        starts = sorted({found.starts[name] for _, name in found.others if name in found.starts})
        sources = zip(starts, self.frames(starts), strict=True)
        headers = {start for start, (source, *_) in sources if is_in_header(source.file)}
        calls = [call for call, name in found.others if found.starts.get(name) in headers]
        lines = zip(calls, self._sources_of(calls), strict=True)
        return {call: source for call, source in lines if not is_in_header(source.file)}

    def _sources_of(self, calls: Iterable[ProbeCall]) -> list[Source]:
        """The return address may already be of the next line; the byte before it is the call's."""
        return self._sources([call.back - 1 for call in calls])

    def _sources(self, addresses: Sequence[int]) -> list[Source]:
        """The source line of each address: the innermost one that is not a system header's."""
        columns = self._columns
        found = []
        for address, frames in zip(addresses, self.frames(addresses), strict=True):
            one = self._chosen(frames)
            # Columns are those of the innermost line.
            column = columns.of(address, one.line) if one is frames[0] else 0
            found.append(one._replace(column=column))
        return found

    def _chosen(self, frames: Sequence[Source]) -> Source:
        return next((one for one in frames if not is_in_header(one.file)), frames[0])

    def frames(self, addresses: Iterable[int]) -> list[list[Source]]:
        """The source lines of each address: those of inlined functions first."""
        text = "\n".join(map(hex, addresses))
        lines = self.tool("addr2line", "-e", str(self.path), "-f", "-i", "-C", "-a", text=text)
        found = [[_source(*pair) for pair in batched(block)] for block in _blocks(lines)]
        pairs = zip(text.split(), found, strict=True)
        return [self._corrected(int(address, 16), one) for address, one in pairs]

    def _corrected(self, address: int, frames: list[Source]) -> list[Source]:
        """With the innermost line's file as the line table has it, if that is a system header."""
        inner = frames[0]
        file = self._columns.file(address, inner.line)
        if not file.startswith(SYSTEM) or inner.file.startswith(SYSTEM):
            return frames
        return [inner._replace(file=file), *frames[1:]]

    @cached_property
    def _columns(self) -> Columns:
        return Columns(self.tool("readelf", "--debug-dump=rawline", str(self.path)))

    def debug_information(self) -> list[str]:
        """What readelf says of types, variables and functions; nothing if that is very much."""
        for line in self.tool("readelf", "--sections", "--wide", str(self.path)):
            found = _INFORMATION.search(line)
            if found and int(found[1], 16) > MOST_INFORMATION:
                return []
        return self.tool("readelf", "--debug-dump=info", str(self.path))

    @cached_property
    def tls_bytes(self) -> int:
        """How far below the thread pointer the program's thread-local variables begin."""
        for line in self.tool("readelf", "--program-headers", "--wide", str(self.path)):
            row = line.split()
            if row[:1] == ["TLS"]:
                size, alignment = int(row[5], 16), int(row[-1], 16)
                # Variant II of the TLS models (x86-64): they end at the thread pointer.
                return size + -size % alignment
        return 0

    def tool(self, *command: str, text: str = "") -> list[str]:
        """The output of one of the binutils."""
        try:
            done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            message = f"{command[0]} is needed to list the sites of a program (package binutils)"
            raise TargetError("tool-missing", message) from None
        return done.stdout.splitlines()


@lru_cache(maxsize=256)
def plain_type(mangled: str) -> str:
    """The name of a C++ type, from that of the symbol which holds it."""
    try:
        done = subprocess.run(
            ["c++filt", mangled], capture_output=True, text=True, check=False
        ).stdout
    except FileNotFoundError:
        return mangled.removeprefix(MANGLED)
    return done.strip().removeprefix("typeinfo name for ")


def add_lines(found: array[int], low: int, high: int, dumped: Iterable[dict[str, Any]]) -> None:
    """Enter for each site from `low` up to `high` the first one that is the same to a person.

    A function may be compiled into several others, and each copy has sites of its own.
    """
    codes = [code for code in dumped if low <= code["base"] < high]
    first: dict[tuple[str, ...], int] = {}
    if any(is_in_header(entry[8]) for code in codes for entry in code["sites"]):
        # All that is not listed: calls inside of headers, too, which are none of the probe.
        found[low:high] = array("I", [HEADER_SITE]) * (high - low)
    for code in codes:
        for offset, kind, _, line, *_, function, file, size in code["sites"]:
            site = code["base"] + offset
            if not is_in_header(file):
                found[site] = first.setdefault((file, function, str(line), kind, str(size)), site)


def _kind(name: str) -> str:
    """Of a call; in libraries those of libc's functions are wrapped."""
    plain_name = name.removeprefix(WRAP)
    for kind, pattern in KINDS:
        if pattern.match(name) or (kind in WRAPPED and pattern.match(plain_name)):
            return kind
    return ""


def _size(name: str) -> int:
    if found := BYTES.match(name):
        return int(found[1])
    return int(found[1]) // 8 if (found := BITS.match(name)) else 0


def _blocks(lines: Iterable[str]) -> Iterator[list[str]]:
    """Of addr2line -a: after each address, pairs of a function and a line, innermost first."""
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


def is_in_header(file: str) -> bool:
    """Whether code is of a system header, also where it is a function of its own."""
    return file.startswith(SYSTEM)


def _is_source(file: str) -> bool:
    """Not a header: what is in those is compiled into others."""
    return file.endswith(C_SOURCES)


def batched(block: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The lines of a block two by two."""
    return zip(block[::2], block[1::2], strict=False)


def _source(function: str, location: str) -> Source:
    file, _, line = location.partition(_INLINED)[0].rpartition(":")
    return Source(plain(function), file, int(line) if line.isdigit() else 0)
