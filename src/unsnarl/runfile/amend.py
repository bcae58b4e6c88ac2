# SPDX-License-Identifier: Apache-2.0
"""Add to a run file what only the parent can say: notes, and logs that threads wrote apart."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unsnarl.runfile import layout
from unsnarl.runfile.errors import RunFileError
from unsnarl.runfile.layout import Section

# By kind: the size of a record, the payload.
Sections = dict[int, tuple[int, bytes]]


def add_note(path: Path, note: dict[str, Any]) -> None:
    """Write the file anew with one more note; `path` is a whole run file."""
    text = json.dumps(note, separators=(",", ":")).encode() + b"\n"
    sections = read_sections(path)
    size, notes = sections.get(Section.NOTES, (1, b""))
    sections[Section.NOTES] = (size, notes.rstrip(b"\n") + b"\n" + text)
    write_sections(path, sections)


def read_sections(path: Path) -> Sections:
    """The sections of a run file as they are; raises RunFileError if it is cut short."""
    data = path.read_bytes()
    if len(data) < layout.FILE_HEADER.size:
        raise RunFileError(path, "ends inside its header")
    magic, _, count, size, _ = layout.FILE_HEADER.unpack_from(data)
    if magic != layout.MAGIC or size != len(data):
        raise RunFileError(path, "is no whole run file")
    found: Sections = {}
    at = layout.FILE_HEADER.size
    for _ in range(count):
        kind, record_size, size = layout.SECTION_HEADER.unpack_from(data, at)
        start = at + layout.SECTION_HEADER.size
        found[kind] = (record_size, data[start : start + size])
        at = start + size + -size % layout.ALIGNMENT
    return found


def write_sections(path: Path, sections: Mapping[int, tuple[int, bytes]]) -> None:
    """Write a run file; it has its name only when it is whole."""
    parts = [_section(kind, *one) for kind, one in sections.items()]
    size = layout.FILE_HEADER.size + sum(map(len, parts))
    header = layout.FILE_HEADER.pack(layout.MAGIC, layout.VERSION, len(parts), size, 0)
    # Renamed when it is whole, as the target's process does (native/include/unsnarl/format.h).
    temporary = path.with_suffix(".amended")
    with temporary.open("wb") as file:
        file.writelines([header, *parts])
    temporary.replace(path)


def _section(kind: int, record_size: int, payload: bytes) -> bytes:
    header = layout.SECTION_HEADER.pack(kind, record_size, len(payload))
    return header + payload + bytes(-len(payload) % layout.ALIGNMENT)
