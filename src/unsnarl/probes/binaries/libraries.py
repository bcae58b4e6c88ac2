# SPDX-License-Identifier: Apache-2.0
"""Shared libraries and Python extensions built with `unsnarl cc -shared`.

Each has its own part of the campaign's sites, whether a run loads it or not, and when. In a run it
is known by its build id (native/probe_c/modules.c).
"""

from __future__ import annotations

import re
import subprocess
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from unsnarl.probes.binaries.finding import PROBE, instrumented
from unsnarl.probes.binaries.sites import UNIT, Module, Program, Source, add_lines
from unsnarl.probes.errors import TargetError

PYTHON = "/include/python"
_LOADED = re.compile(r"^\s*(?:\S+ => )?(/.*) \(0x[0-9a-f]+\)$")
_NEEDED = re.compile(rf"\(NEEDED\).*\[{re.escape(PROBE)}\]")
_BUILD_ID = re.compile(r"Build ID: ([0-9a-f]+)")
_SEGMENT = re.compile(r"LOAD\s+\S+ 0x([0-9a-f]+) \S+ \S+ 0x([0-9a-f]+) ([R ])([W ])([E ])")


class Library(Program):
    """What binutils say of a shared library."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.start = self.first = self.offset = 0
        text = "\n".join(self.tool("readelf", "-dnlW", str(path)))
        ids = _BUILD_ID.search(text)
        self.id = bytes.fromhex(ids[1]) if ids and _NEEDED.search(text) else b""
        ends = [(int(at, 16) + int(size, 16), x) for at, size, *_, x in _SEGMENT.findall(text)]
        self.end = max((end for end, _ in ends), default=0)
        # Sites are code: only what can be executed has some. Variables lie anywhere up to `end`.
        self.limit = max((end for end, x in ends if x == "E"), default=0) // UNIT + 1

    def _chosen(self, frames: Sequence[Source]) -> Source:
        """Counting references is the interpreter's affair, whoever's line it is compiled into."""
        if PYTHON in frames[0].file or frames[0].function.startswith(("Py_", "_Py_")):
            return Source("", "", 0)
        return super()._chosen(frames)

    def number(self, first: int, offset: int) -> None:
        """Give it its sites, and its variables their offset, among those of others."""
        self.first, self.offset = first, offset


class Libraries:
    """The instrumented libraries that runs may load, and their sites."""

    def __init__(self, paths: Iterable[Path], first: int, offset: int) -> None:
        """Their sites begin at `first`, their variables at `offset`."""
        self._all: list[Library] = []
        for library in map(Library, paths):
            # Copies of a library have one build id, by which runs recognise it: one is listed.
            if not library.id or any(library.id == other.id for other in self._all):
                continue
            library.number(first, offset)
            first, offset = first + library.limit, offset + library.end
            self._all.append(library)
        self.limit = first

    @property
    def modules(self) -> list[Module]:
        """How runs know them."""
        return [library.module for library in self._all]

    def add_to(self, dump: dict[str, Any]) -> None:
        """Add them to the content of codes.json."""
        for library in self._all:
            try:
                found = library.codes()
            except TargetError as error:  # nothing could be shown: it is left alone
                dump.setdefault("refused", []).append([str(library.path), error.message])
                continue
            for key in ("modules", "probes", "codes"):
                dump[key] += found[key]
            dump["symbols"] = [*dump.get("symbols", ()), *found["symbols"]]
        dump["watermark"] = max(dump["watermark"], self.limit)

    def add_lines(self, table: array[int], dump: dict[str, Any]) -> None:
        """Enter their sites into a table of lines (sites.add_lines)."""
        first = self._all[0].first if self._all else self.limit
        table[first : self.limit] = array("I", [0]) * (self.limit - first)  # but for the listed
        add_lines(table, first, self.limit, dump["codes"])


def needed_by(program: Path) -> list[Path]:
    """The instrumented libraries that a program is linked to, as the dynamic linker finds them."""
    try:
        done = subprocess.run(
            ["ldd", str(program)], capture_output=True, text=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    rows = map(_LOADED.match, done.stdout.splitlines())
    return instrumented(Path(row[1]) for row in rows if row)
