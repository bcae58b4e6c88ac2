# SPDX-License-Identifier: Apache-2.0
"""Which files are libraries built with `unsnarl cc -shared`. All servers ask: it loads little."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

PROBE = "libunsnarl_c.so"
# Entries of the project's folders that are looked at in search of libraries.
MOST_ENTRIES = 20_000
_LIBRARY = re.compile(r"\.so(\.[0-9.]+)?$")
_NOT_SEARCHED = frozenset({"site-packages", "dist-packages", "node_modules", "__pycache__"})


def instrumented(paths: Iterable[Path]) -> list[Path]:
    """Those that need our shared probe; each once."""
    return sorted({path.resolve() for path in paths if _has_probe(path)})


def in_project(root: str, include: Iterable[str]) -> list[Path]:
    """Those that a run may load at any time: in the project's folders, or named by --include."""
    named = (Path(name) for name in include if is_library(name))
    return instrumented([*_below(root), *named])


def loaded() -> list[Path]:
    """Those that are in this process."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as stream:  # noqa: PTH123
        rows = [line.rstrip("\n").split(maxsplit=5) for line in stream]
    files = {row[5] for row in rows if len(row) == 6 and ".so" in row[5]}
    if not any(file.endswith(f"/{PROBE}") for file in files):
        return []  # what needs it would have brought it
    return instrumented(map(Path, files))


def _below(root: str) -> Iterator[Path]:
    left = MOST_ENTRIES
    for folder, folders, files in os.walk(root):
        left -= len(folders) + len(files)
        if left < 0:
            return
        if "pyvenv.cfg" in files:
            folders.clear()
            continue
        folders[:] = [name for name in folders if name[0] != "." and name not in _NOT_SEARCHED]
        yield from (Path(folder, name) for name in files if ".so" in name and is_library(name))


def is_library(name: str) -> bool:
    """Whether a file is called like a shared library."""
    return _LIBRARY.search(name) is not None


def _has_probe(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            # A needed library is named in the file as text; readelf would be one process a file.
            is_elf = stream.read(4) == b"\x7fELF"
            return is_elf and path.name != PROBE and PROBE.encode() in stream.read()
    except OSError:
        return False
