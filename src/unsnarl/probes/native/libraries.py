# SPDX-License-Identifier: Apache-2.0
"""Shared libraries and Python extensions built with `unsnarl cc -shared`.

Each has its own part of the campaign's sites, whether a run loads it or not, and when. In a run it
is known by its build id (native/probe_c/modules.c).
"""

from __future__ import annotations

import os
import re
import subprocess
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from unsnarl.probes.native.sites import UNIT, Program, Source, add_places
from unsnarl.probes.python.launcher import TargetError

Module = tuple[bytes, int, int, int]  # build id, first site, sites, offset of variables
PROBE = "libunsnarl_c.so"
PYTHON = "/include/python"
# Entries of the project's folders that are looked at in search of libraries.
MOST_ENTRIES = 20_000
_LIBRARY = re.compile(r"\.so(\.[0-9.]+)?$")
_LOADED = re.compile(r"^\s*(?:\S+ => )?(/.*) \(0x[0-9a-f]+\)$")
_NEEDED = re.compile(rf"\(NEEDED\).*\[{re.escape(PROBE)}\]")
_BUILD_ID = re.compile(r"Build ID: ([0-9a-f]+)")
_SEGMENT = re.compile(r"LOAD\s+\S+ 0x([0-9a-f]+) \S+ \S+ 0x([0-9a-f]+) ([R ])([W ])([E ])")
_NOT_SEARCHED = frozenset({"site-packages", "dist-packages", "node_modules", "__pycache__"})


class Library(Program):
    """What binutils say of a shared library."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.start = self.first = self.offset = 0
        text = "\n".join(self._tool("readelf", "-dnlW", str(path)))
        ids = _BUILD_ID.search(text)
        self.id = bytes.fromhex(ids[1]) if ids and _NEEDED.search(text) else b""
        ends = [(int(at, 16) + int(size, 16), x) for at, size, *_, x in _SEGMENT.findall(text)]
        self.end = max((end for end, _ in ends), default=0)
        self.limit = max((end for end, x in ends if x == "E"), default=0) // UNIT + 1

    def _chosen(self, frames: Sequence[Source]) -> Source:
        """Counting references is the interpreter's affair, whoever's line it is compiled into."""
        if PYTHON in frames[0].file:
            return Source("", "", 0)
        return super()._chosen(frames)

    def place(self, first: int, offset: int) -> None:
        """Give it its sites, and the place of its variables."""
        self.first, self.offset = first, offset

    def module(self) -> Module:
        """How a run knows it."""
        return (self.id, self.first, self.limit, self.offset)


class Libraries:
    """The instrumented libraries that runs may load, and their sites."""

    def __init__(self, paths: Iterable[Path], first: int, offset: int) -> None:
        """Their sites begin at `first`, their variables at `offset`."""
        self._all: list[Library] = []
        for path in sorted({path.resolve() for path in paths if is_instrumented(path)}):
            library = Library(path)
            if not library.id or any(library.id == other.id for other in self._all):
                continue
            library.place(first, offset)
            first, offset = first + library.limit, offset + library.end
            self._all.append(library)
        self.limit = first

    @property
    def modules(self) -> list[Module]:
        """How runs know them."""
        return [library.module() for library in self._all]

    def add_to(self, dump: dict[str, Any]) -> None:
        """Add them to the content of codes.json."""
        for library in self._all:
            try:
                found = library.codes()
            except TargetError:
                continue  # without debug information: nothing could be shown
            for key in ("modules", "probes", "codes"):
                dump[key] += found[key]
            dump["symbols"] = [*dump.get("symbols", ()), *found["symbols"]]
        dump["watermark"] = max(dump["watermark"], self.limit)

    def add_places(self, table: array[int], dump: dict[str, Any]) -> None:
        """Put down the places of their sites."""
        first = self._all[0].first if self._all else self.limit
        table[first : self.limit] = array("I", [0]) * (self.limit - first)  # but for the listed
        add_places(table, (code for code in dump["codes"] if first <= code["base"] < self.limit))


def is_instrumented(path: Path) -> bool:
    """Whether it is a file that needs our shared probe."""
    try:
        with path.open("rb") as stream:
            return stream.read(4) == b"\x7fELF" and PROBE.encode() in stream.read()
    except OSError:
        return False


def needed_by(program: Path) -> list[Path]:
    """All libraries that a program is linked to, as the dynamic linker finds them."""
    try:
        done = subprocess.run(
            ["ldd", str(program)], capture_output=True, text=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [Path(found[1]) for line in done.stdout.splitlines() if (found := _LOADED.match(line))]


def below(root: Path) -> Iterator[Path]:
    """Libraries in a project's folders: one of them may be loaded at any time."""
    left = MOST_ENTRIES
    for folder, folders, files in os.walk(root):
        left -= len(folders) + len(files)
        if left < 0:
            return
        folders[:] = [name for name in folders if _is_searched(Path(folder, name))]
        yield from (Path(folder, name) for name in files if _LIBRARY.search(name))


def named(include: Iterable[str], root: Path) -> Iterator[Path]:
    """Those that --include names."""
    return (root / name for name in include if _LIBRARY.search(name))


def loaded() -> set[Path]:
    """Those that are in this process."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as stream:  # noqa: PTH123
        rows = [line.split(maxsplit=5) for line in stream]
    return {Path(row[5].rstrip("\n")) for row in rows if len(row) == 6 and ".so" in row[5]}


def _is_searched(folder: Path) -> bool:
    hidden = folder.name.startswith(".") or folder.name in _NOT_SEARCHED
    return not hidden and not (folder / "pyvenv.cfg").exists()
