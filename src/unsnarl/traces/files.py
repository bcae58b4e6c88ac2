# SPDX-License-Identifier: Apache-2.0
"""The file of an access trace: written block by block from what a run left, read the same way.

    000007.run.events.0    what the run wrote, mapped into its memory (native/recorder/log.c)
    000007.trace           the same, compressed, made when the run is over

A trace may be larger than memory: nobody ever has more than one block of it.

    header | options as JSON | block | block | …        all little-endian
    a block: events u32, bytes u32, then the columns one after the other, compressed

Times are stored as differences. What is read is checked as a run file is: nothing is trusted.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

import msgspec
import numpy as np

from unsnarl.errors import UsageError
from unsnarl.model.access_trace import EVENT, NO_THREAD, EventKind, Events, TrackerOptions
from unsnarl.model.event import Op, ops_of
from unsnarl.runfile import RunFileError, layout, pieces
from unsnarl.traces import codecs

MAGIC = b"UNSTRACE"
VERSION = 1
SUFFIX = ".trace"
# magic, version, codec, events, events that had no room, bytes of the options
HEADER = struct.Struct("<8sI8sQQI")
BLOCK_HEADER = struct.Struct("<II")
BLOCK = 1 << 16  # events
MOST_OPTIONS = 1 << 16  # bytes
COLUMNS = ("time", "cell", "address", "point", "thread", "kind")
EVENT_BYTES = sum(EVENT[name].itemsize for name in COLUMNS)
_LIVE_IDS = 64  # native/tracker/tracker.h


class StoredTrace(NamedTuple):
    """A trace on disk: how many events it has, and what it takes."""

    path: Path
    events: int
    bytes: int


def path_of(run: Path) -> Path:
    """Where the trace of a run file is, or will be."""
    return run.with_suffix(SUFFIX)


def gather(run: Path, options: TrackerOptions, dropped: int = 0) -> StoredTrace | None:
    """Compress what a run wrote down, and remove that; None if it wrote nothing.

    Raises:
        RunFileError: It is damaged, or the disk is full. Then it stays where it is.
    """
    piece = pieces.events_path(run)
    if not piece.exists():
        return None
    stored = write(path_of(run), _blocks_of_piece(piece), options, dropped)
    piece.unlink()
    return stored


def write(
    path: Path, blocks: Iterable[Events], options: TrackerOptions, dropped: int = 0
) -> StoredTrace:
    """Write a trace; it has its name only when it is whole."""
    temporary = path.with_suffix(f"{SUFFIX}.tmp")
    codec = codecs.best()
    text = msgspec.json.encode(options)
    total = 0
    try:
        with temporary.open("wb") as file:
            file.write(bytes(HEADER.size) + text)
            for block in _of_a_size(blocks):
                total += len(block)
                data = codec.compress(_packed(block))
                file.write(BLOCK_HEADER.pack(len(block), len(data)) + data)
            size = file.tell()
            file.seek(0)
            name = codec.name.encode()
            file.write(HEADER.pack(MAGIC, VERSION, name, total, dropped, len(text)))
        temporary.replace(path)
    except OSError as error:
        raise RunFileError(path, f"cannot be written: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)
    return StoredTrace(path, total, size)


def _of_a_size(blocks: Iterable[Events]) -> Iterator[Events]:
    for block in blocks:
        for at in range(0, len(block), BLOCK):
            yield block[at : at + BLOCK]


def _blocks_of_piece(piece: Path) -> Iterator[Events]:
    """What was written before the run ended, however it ended."""
    with piece.open("rb") as file:
        magic, version, section, size, _ = pieces.HEADER.unpack(_some(piece, file, pieces.HEADER))
        expected = (pieces.MAGIC, layout.VERSION, layout.Section.EVENTS, EVENT.itemsize)
        if (magic, version, section, size) != expected:
            raise RunFileError(piece, "has no events of a run")
        file.seek(pieces.HEADER_BYTES)
        while data := file.read(BLOCK * EVENT.itemsize):
            rows = np.frombuffer(data, EVENT, len(data) // EVENT.itemsize)
            # The kind is written last. Space is reserved in chunks: zeros follow the last event.
            free = np.flatnonzero(rows["kind"] == 0)
            rows = rows[: free[0]] if len(free) else rows
            if len(rows):
                yield rows
            if len(free):
                return


def _some(path: Path, file: IO[bytes], what: struct.Struct) -> bytes:
    data = file.read(what.size)
    if len(data) != what.size:
        raise RunFileError(path, "ends inside a header")
    return data


def _packed(block: Events) -> bytes:
    times = np.diff(block["time"], prepend=np.uint64(0))
    columns = (times, *(np.ascontiguousarray(block[name]) for name in COLUMNS[1:]))
    return b"".join(column.tobytes() for column in columns)


class Trace:
    """An access trace on disk.

    Attributes:
        events: How many it has.
        dropped: Further ones for which there was no room; those that are there come first.
        options: How the tracker was set that took the same events.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        try:
            with self.path.open("rb") as file:
                header = HEADER.unpack(_some(self.path, file, HEADER))
                magic, version, name, self.events, self.dropped, size = header
                if magic != MAGIC:
                    raise RunFileError(path, "is no access trace")
                if version != VERSION or size > MOST_OPTIONS:
                    raise RunFileError(path, f"has version {version}, this unsnarl reads {VERSION}")
                self.options = msgspec.json.decode(file.read(size), type=TrackerOptions)
                self._first = file.tell()
        except OSError as error:
            raise RunFileError(path, f"cannot be read: {error.strerror}") from error
        except msgspec.MsgspecError as error:
            raise RunFileError(path, f"its options cannot be read: {error}") from error
        self._codec = self._codec_named(name.rstrip(b"\0").decode("ascii", "replace"))

    def _codec_named(self, name: str) -> codecs.Codec:
        codec = codecs.named(name)
        if codec is None:
            hint = "install it: pip install 'unsnarl[traces]'"
            text = f"{self.path} is compressed with {name}, which is not installed here"
            raise UsageError("no-codec", text, hint)
        return codec

    def blocks(self) -> Iterator[Events]:
        """Its events, some at a time; raises RunFileError where it is damaged."""
        seen = 0
        with self.path.open("rb") as file:
            file.seek(self._first)
            while header := file.read(BLOCK_HEADER.size):
                if len(header) != BLOCK_HEADER.size:
                    raise RunFileError(self.path, "ends inside a header")
                block = self._block(file, *BLOCK_HEADER.unpack(header))
                seen += len(block)
                yield block
        if seen != self.events:
            raise RunFileError(self.path, f"has {seen} events where its header says {self.events}")

    def _block(self, file: IO[bytes], count: int, size: int) -> Events:
        if not 0 < count <= BLOCK or size > 2 * BLOCK * EVENT_BYTES:
            raise RunFileError(self.path, "a block has an impossible size")
        try:
            data = self._codec.decompress(file.read(size), count * EVENT_BYTES)
        except ValueError as error:
            raise RunFileError(self.path, f"a block is damaged: {error}") from None
        rows = _unpacked(data, count)
        if not _are_possible(rows):
            raise RunFileError(self.path, "a block has impossible events")
        return rows


def _unpacked(data: bytes, count: int) -> Events:
    rows = np.zeros(count, EVENT)
    at = 0
    for name in COLUMNS:
        rows[name] = np.frombuffer(data, EVENT[name], count, at)
        at += count * EVENT[name].itemsize
    rows["time"] = np.cumsum(rows["time"])
    return rows


def _are_possible(rows: Events) -> bool:
    kinds = rows["kind"]
    nobody = rows["thread"] == NO_THREAD
    begins = kinds == EventKind.THREAD
    return bool(
        kinds.min() >= min(EventKind)
        and kinds.max() <= max(EventKind)
        and rows["cell"].min() > 0
        and ops_of(rows["point"]).max() <= max(Op)
        and not np.any(nobody & (kinds != EventKind.FORGET))
        and not np.any(rows["cell"][begins] >= _LIVE_IDS)
    )
