# SPDX-License-Identifier: Apache-2.0
"""Add a note to a run file: what only the parent can say of what the target noted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from unsnarl.runfile import layout
from unsnarl.runfile.layout import Section


def add_note(path: Path, note: dict[str, Any]) -> None:
    """Write the file anew with one more note; `path` is a whole run file."""
    data = path.read_bytes()
    text = json.dumps(note, separators=(",", ":")).encode() + b"\n"
    magic, version, sections, _, reserved = layout.FILE_HEADER.unpack_from(data)
    body = b"".join(_section(*one, text) for one in _sections(data, sections))
    size = layout.FILE_HEADER.size + len(body)
    header = layout.FILE_HEADER.pack(magic, version, sections, size, reserved)
    temporary = path.with_suffix(".amended")
    temporary.write_bytes(header + body)
    temporary.replace(path)


def _sections(data: bytes, count: int) -> list[tuple[int, int, bytes]]:
    found = []
    at = layout.FILE_HEADER.size
    for _ in range(count):
        kind, record_size, size = layout.SECTION_HEADER.unpack_from(data, at)
        start = at + layout.SECTION_HEADER.size
        found.append((kind, record_size, data[start : start + size]))
        at = start + size + -size % layout.ALIGNMENT
    return found


def _section(kind: int, record_size: int, payload: bytes, text: bytes) -> bytes:
    if kind == Section.NOTES:
        payload = payload.rstrip(b"\n") + b"\n" + text
    header = layout.SECTION_HEADER.pack(kind, record_size, len(payload))
    return header + payload + bytes(-len(payload) % layout.ALIGNMENT)
