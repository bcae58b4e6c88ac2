# SPDX-License-Identifier: Apache-2.0
"""From the files that the threads of a recorded run have written to its run file.

    000007.run             what the process itself wrote at its end, if it came to that
    000007.run.log.0       one for each thread, mapped into its memory while it ran:
    000007.run.log.1       a header (native/include/unsnarl/format.h), then records
    000007.run.values.1
    000007.run.events.0    what the tracker was given, by all threads (traces/files.py)

A process that was killed leaves pieces only: their headers say which threads there were.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from unsnarl.model.event import ops_of, sites_of
from unsnarl.model.record import BRANCH, LOG, VALUE
from unsnarl.runfile import layout
from unsnarl.runfile.amend import read_sections, write_sections
from unsnarl.runfile.errors import RunFileError
from unsnarl.runfile.layout import Section, ThreadFlag

MAGIC = b"UNSPIECE"
# magic, version, section, record size, reserved; then a thread record
HEADER = struct.Struct("<8sIIII")
# A page, since records are mapped (UNS_PIECE_BYTES).
HEADER_BYTES = 4096
KINDS = {"log": Section.LOG, "values": Section.VALUES, "branches": Section.BRANCHES}
# Events as they are packed in a piece (native/include/unsnarl/format.h).
PACKED = np.dtype([("point", "<u4"), ("ticks", "<u4")])
# Operations that no event has: they begin a new count of ticks (UNS_PACKED_*).
LOW, CORE = 14, 15
STORED = {Section.LOG: PACKED, Section.VALUES: VALUE, Section.BRANCHES: BRANCH}
# The field that is written last: a record is there if it is not 0. (No packed one has point 0.)
WRITTEN = {Section.LOG: "point", Section.VALUES: "point", Section.BRANCHES: "count"}
_NAME = re.compile(r"\.(log|values|branches)\.(\d{1,5})")
EVENTS = ".events.0"


class Piece(NamedTuple):
    """One thread's records of one kind."""

    section: Section
    thread: npt.NDArray[Any]  # one row of layout.THREAD
    rows: npt.NDArray[Any]


def paths(run: Path) -> list[Path]:
    """The pieces of a run, thread by thread."""
    found = []
    for path in run.parent.glob(f"{run.name}.*"):
        match = _NAME.fullmatch(path.name.removeprefix(run.name))
        if match:
            found.append((match[1], int(match[2]), path))
    return [path for _, _, path in sorted(found)]


def events_path(run: Path) -> Path:
    """Where a run writes what its tracker is given."""
    return run.with_name(run.name + EVENTS)


def gather(run: Path, note: dict[str, Any], *, whole: bool = False) -> int:
    """Put the pieces of a run into its run file, with one more note, and remove them.

    Returns the bytes of the logs.

    Args:
        whole: Keep the values of all accesses: the log does not say how many there were.

    Raises:
        RunFileError: A piece is damaged, or there is nothing at all.
    """
    files = paths(run)
    pieces = [read_piece(path) for path in files]
    sections = _own_sections(run, pieces)
    line = msgspec.json.encode(note) + b"\n"
    sections[Section.NOTES] = (1, sections.get(Section.NOTES, (1, b""))[1] + line)
    for kind in KINDS.values():
        rows = [piece.rows for piece in pieces if piece.section == kind]
        if rows:
            table = np.concatenate(rows)
            table = _shared(table) if kind == Section.VALUES and not whole else table
            sections[kind] = (table.itemsize, table.tobytes())
    # Pieces go only when the run file is whole.
    write_sections(run, sections)
    for path in files:
        path.unlink(missing_ok=True)
    return sum(piece.rows.nbytes for piece in pieces)


def _shared(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Without those of cells that one thread alone has touched: nobody could have changed them."""
    _, cell = np.unique(values["cell"], return_inverse=True)
    first = np.full(cell.max(initial=-1) + 1, values["thread"].max(initial=0))
    last = np.zeros_like(first)
    np.minimum.at(first, cell, values["thread"])
    np.maximum.at(last, cell, values["thread"])
    kept: npt.NDArray[Any] = values[(first != last)[cell]]
    return kept


def discard(run: Path) -> None:
    """Remove the pieces of a run."""
    for path in (*paths(run), events_path(run)):
        path.unlink(missing_ok=True)


def read_piece(path: Path) -> Piece:
    """One piece, as far as it was written; raises RunFileError if it is none."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RunFileError(path, f"cannot be read: {error.strerror}") from error
    if len(data) < HEADER.size + layout.THREAD.itemsize:
        raise RunFileError(path, "ends inside its header")
    magic, version, section, size, _ = HEADER.unpack_from(data)
    if magic != MAGIC or version != layout.VERSION or section not in WRITTEN:
        raise RunFileError(path, "is no log of a thread")
    kind = Section(section)
    dtype = STORED[kind]
    if size != dtype.itemsize:
        raise RunFileError(path, f"has records of {size} bytes, expected {dtype.itemsize}")
    thread = np.frombuffer(data, layout.THREAD, 1, HEADER.size)
    if not path.name.endswith(f".{int(thread['index'][0])}"):
        raise RunFileError(path, "is the log of another thread")
    whole = max(len(data) - HEADER_BYTES, 0) // size
    rows = np.frombuffer(data, dtype, whole, min(HEADER_BYTES, len(data)))
    rows = rows[: _written(rows[WRITTEN[kind]])]
    return Piece(kind, thread, _unpacked(path, rows, thread) if kind == Section.LOG else rows)


def _unpacked(path: Path, rows: npt.NDArray[Any], thread: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Events with their own stamps and cores, from those that count from the one before."""
    ops = ops_of(rows["point"])
    starts = np.flatnonzero(ops == CORE)
    # A count begins with two records; a process that was killed may have written only the first.
    if len(rows) and (not len(starts) or starts[0] or starts[-1] == len(rows) - 1):
        rows, ops, starts = _whole(path, rows, starts)
    if not np.array_equal(np.flatnonzero(ops == LOW), starts + 1):
        raise RunFileError(path, "its events cannot be counted")
    events = np.flatnonzero(ops < LOW)
    base = np.searchsorted(starts, events) - 1
    ticks = np.cumsum(np.where(ops < LOW, rows["ticks"], 0).astype(np.uint64))
    stamps = rows["ticks"][starts].astype(np.uint64) << np.uint64(32)
    stamps |= rows["ticks"][starts + 1]
    found = np.zeros(len(events), LOG)
    found["stamp"] = stamps[base] + ticks[events] - ticks[starts][base]
    found["point"] = rows["point"][events]
    found["core"] = sites_of(rows["point"][starts])[base]
    found["thread"] = thread["index"][0]
    return found


def _whole(path: Path, rows: npt.NDArray[Any], starts: npt.NDArray[Any]) -> Any:
    """Without a beginning of a new count that the process did not live to finish."""
    if not len(starts) or starts[0]:
        raise RunFileError(path, "its events cannot be counted")
    rows, starts = rows[:-1], starts[:-1]
    return rows, ops_of(rows["point"]), starts


def _written(marks: npt.NDArray[Any]) -> int:
    """How many come before the zeros at the end."""
    # Space is reserved in chunks and filled from the start, so all that was written comes first.
    return _first(len(marks), lambda at: not marks[at])


def _first(length: int, holds: Callable[[int], bool]) -> int:
    low, high = 0, length
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _own_sections(run: Path, pieces: Iterable[Piece]) -> dict[int, tuple[int, bytes]]:
    """Those that the process wrote; of one that was killed, the threads that logged."""
    if run.exists():
        return read_sections(run)
    rows = [*_logged_threads(pieces)]
    if not rows:
        raise RunFileError(run, "the run has left nothing")
    return {Section.THREADS: (layout.THREAD.itemsize, np.concatenate(rows).tobytes())}


def _logged_threads(pieces: Iterable[Piece]) -> Iterator[npt.NDArray[Any]]:
    """One row for every index: threads that logged nothing have no name."""
    by_index = {int(piece.thread["index"][0]): piece.thread for piece in pieces}
    for index in range(max(by_index, default=-1) + 1):
        if index in by_index:
            yield by_index[index]
            continue
        blank = np.zeros(1, layout.THREAD)
        blank["index"], blank["path"] = index, str(index).encode()
        blank["flags"] = int(ThreadFlag.ENDED)
        yield blank
