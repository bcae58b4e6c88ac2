# SPDX-License-Identifier: Apache-2.0
"""A writer of run files in pure Python: the tests' stand-in for the native one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from unsnarl.model.graph import EDGE
from unsnarl.runfile import layout
from unsnarl.runfile.layout import Section


def section(kind: int, payload: bytes, record_size: int = 1) -> bytes:
    """One section with its header and padding."""
    header = layout.SECTION_HEADER.pack(kind, record_size, len(payload))
    return header + payload + bytes(-len(payload) % layout.ALIGNMENT)


def run_file(sections: Sequence[bytes], version: int = layout.VERSION) -> bytes:
    """A whole file."""
    body = b"".join(sections)
    size = layout.FILE_HEADER.size + len(body)
    return layout.FILE_HEADER.pack(layout.MAGIC, version, len(sections), size, 0) + body


def records(kind: Section, rows: Iterable[tuple[Any, ...]]) -> bytes:
    """A section of records, given as tuples of the record's first fields; others are 0."""
    dtype = layout.RECORDS[kind]
    blank = np.zeros((), dtype=dtype).item()
    filled = [row + blank[len(row) :] for row in rows]
    return section(kind, np.array(filled, dtype=dtype).tobytes(), dtype.itemsize)


def notes(*lines: dict[str, Any]) -> bytes:
    """A section of notes."""
    text = "".join(json.dumps(line) + "\n" for line in lines)
    return section(Section.NOTES, text.encode())


def thread(
    index: int, path: str, name: str = "", parent: int = 0, flags: int = 1
) -> tuple[Any, ...]:
    """A thread record."""
    return (index, parent, flags, 0, 10 * index, path.encode(), name.encode())


def edge(source: int, sink: int, **fields: int) -> tuple[Any, ...]:
    """An edge record between two raw points; threads 0 and 1 unless told otherwise."""
    values = dict.fromkeys(EDGE.names or (), 0) | {
        "source_point": source,
        "sink_point": sink,
        "sink_thread": 1,
        "source_time": 1,
        "sink_time": 2,
        "count": 1,
    }
    return tuple((values | fields).values())
