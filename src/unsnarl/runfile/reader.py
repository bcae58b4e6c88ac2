# SPDX-License-Identifier: Apache-2.0
"""The reader and validator of run files.

A run file was written inside the target's process, perhaps while it was dying, so nothing in it is
trusted: every section's bounds, every thread index and every operation is checked here, once and
vectorised, and the rest of the program may index with them blindly.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from unsnarl.model.event import Op, op_of, ops_of
from unsnarl.model.evidence import Due
from unsnarl.model.pattern import FINE, PatternKind
from unsnarl.model.record import MOST_BRANCHES, Record, ThreadLog, outcomes
from unsnarl.model.run import (
    Caught,
    CaughtKind,
    Failure,
    Frame,
    RuleEffect,
    Standstill,
    Thread,
    Wait,
    in_cycle,
)
from unsnarl.model.schedule import Schedule, Segment
from unsnarl.runfile import layout
from unsnarl.runfile.captures import Capture, read_captures
from unsnarl.runfile.codes import Code
from unsnarl.runfile.errors import RunFileError
from unsnarl.runfile.layout import Section, StandstillFlag, ThreadFlag
from unsnarl.runfile.notes import Notes, parse_notes

Records = npt.NDArray[Any]

_PATH = re.compile(rb"[0-9]+(\.[0-9]+)*\.?")  # a path cut to fit may end in a dot
# Failures that end the whole process at once, whatever its other threads do.
STRIKING = ("assert", "signal", "heap")
_MAX_OP = int(max(Op))
# Made once: every run is read, and an enumeration is slow to go through.
_LEAST_KIND, _MOST_KIND = int(min(PatternKind)), int(max(PatternKind))
_POINTS = {
    kind: tuple(name for name in record.names or () if name.endswith("point"))
    for kind, record in layout.RECORDS.items()
}


def read_run(path: Path | str) -> RunFile:
    """Reads and checks a run file; raises RunFileError if it cannot be trusted."""
    path = Path(path)
    try:
        # Not mmap: run files are small, and a mapping of a file that shrinks kills the process.
        data = path.read_bytes()
    except OSError as error:
        raise RunFileError(path, f"cannot be read: {error.strerror}") from error
    return parse_run(data, path)


def parse_run(data: bytes, path: Path | str = "<memory>") -> RunFile:
    """Checks the bytes of a run file; `path` is only for the error's text."""
    try:
        return RunFile(Path(path), _sections(data))
    except _DamagedError as damage:
        raise RunFileError(path, str(damage)) from None


class RunFile:
    """One run. Its arrays (edges, patterns, counts, …) have raw points and site ids.

    Attributes:
        due: Accesses that its threads were still to make when it ended, as a comparison with other
            runs shows them; whoever traces a run of a comparison sets it.
        failing_point: The exception with which it failed though the program caught it; likewise.
        standstills: Where nobody could go on until a time limit ran out, in order of time.
        standstill: The one that became the failure, likewise.
    """

    due: tuple[Due, ...] = ()
    failing_point: CaughtKind | None = None
    standstill: Standstill | None = None

    def __init__(self, path: Path, payloads: dict[int, bytes | memoryview]) -> None:
        self.path = path
        self._notes = bytes(payloads.get(Section.NOTES, b""))
        self.threads = _threads(_records(payloads, Section.THREADS))
        self.edges = self._checked(payloads, Section.EDGES, "source_thread", "sink_thread")
        self.patterns = self._checked(payloads, Section.PATTERNS, "first_thread", "other_thread")
        self.pairs = self._checked(payloads, Section.PAIRS, "first_thread", "other_thread")
        for patterns in (self.patterns, self.pairs):
            _require(_are_kinds(patterns["kind"]), "patterns: no such kind")
        self.orders = self._checked(payloads, Section.ORDERS, "thread", "other")
        self.counts = self._checked(payloads, Section.COUNTS, "thread")
        self.trace = self._checked(payloads, Section.TRACE, "thread")
        self.pending = self._checked(payloads, Section.PENDING, "thread")
        self.latest = self._checked(payloads, Section.LATEST, "thread")
        self.shared = _records(payloads, Section.SHARED)
        rules = _records(payloads, Section.RULES)  # in the order of the plan's
        self.rules = tuple(RuleEffect(*row) for row in rules.tolist())
        self.counters = _counters(_records(payloads, Section.COUNTERS))
        self.segments = self._checked(payloads, Section.SCHEDULE, "thread")
        self.waits = _waits(self._checked(payloads, Section.WAITS, "thread"), len(self.threads))
        self.standstills = _standstills(
            self._checked(payloads, Section.STANDSTILLS, "thread"), len(self.threads)
        )
        self._log = self._logged(payloads, Section.LOG)
        self._values = self._logged(payloads, Section.VALUES)
        self._branches = self._logged(payloads, Section.BRANCHES)
        counts = self._branches["count"]
        _require(not len(counts) or counts.max() <= MOST_BRANCHES, "branches: too many in one row")

    def stop_where(self, other: RunFile) -> None:
        """Takes the standstill of another run of the same schedule for its own."""
        wanted = other.standstill and other.waiting(other.standstill)
        same = (one for one in self.standstills if self.waiting(one) == wanted)
        self.standstill = next(same, None) if wanted else None

    def waiting(self, standstill: Standstill) -> frozenset[tuple[str, int]]:
        """Which threads wait where, by names that other runs have as well."""
        return frozenset((self.threads[one.thread].path, one.point) for one in standstill.waits)

    @property
    def stuck_waits(self) -> tuple[Wait, ...]:
        """Who waited for whom when nobody could go on: at the standstill, or else at the end.

        First those who had first taken what others wait for.
        """
        waits = self.waits if self.standstill is None else self.standstill.waits
        taken = {
            wait.owner: wait.taken_time
            for wait in sorted(waits, key=lambda wait: wait.taken_time, reverse=True)
            if op_of(wait.point) is not Op.JOIN
        }
        return tuple(sorted(waits, key=lambda wait: taken.get(wait.thread, math.inf)))

    def _logged(self, payloads: dict[int, bytes | memoryview], kind: Section) -> Records:
        """Rows of a recorded run: thread by thread."""
        rows = self._checked(payloads, kind, "thread")
        threads = rows["thread"]
        if len(rows) and not np.all(threads[1:] >= threads[:-1]):
            raise _DamagedError(f"{_word(kind)}: threads are mixed up")
        return rows

    def _checked(
        self, payloads: dict[int, bytes | memoryview], kind: Section, *threads: str
    ) -> Records:
        records = _records(payloads, kind)
        if not len(records):
            return records
        for field in threads:
            if records[field].max() >= len(self.threads):
                raise _DamagedError(f"{_word(kind)}: no such thread")
        for field in _POINTS[kind]:
            if ops_of(records[field]).max() > _MAX_OP:
                raise _DamagedError(f"{_word(kind)}: no such operation")
        return records

    @property
    def final_waits(self) -> tuple[Wait, ...]:
        """The waits that the run ended in; none if a failure ended it while others waited."""
        died = bool(self.failures) and self.failures[0].kind != "deadlock"
        stands = self.standstill is not None or bool(in_cycle(self.waits))
        return () if died and not stands else self.stuck_waits

    @property
    def is_struck(self) -> bool:
        """Whether a failure ended the process on the spot: whoever waited then was not stuck."""
        first = self.failures[0] if self.failures else None
        # A Python thread that fails leaves the others where they are: they may well be stuck.
        struck = first is not None and (first.kind in STRIKING or first.type in STRIKING)
        return struck and not self.final_waits

    @cached_property
    def schedule(self) -> Schedule:
        """Who ran until when; made on demand, because most readers want only the edges."""
        paths = [thread.path for thread in self.threads]
        return tuple(
            Segment(paths[thread], until, point, occurrence)
            for thread, point, until, occurrence in self.segments.tolist()
        )

    @cached_property
    def notes(self) -> Notes:
        """The notes, parsed on demand; raises RunFileError if they are damaged."""
        try:
            return parse_notes(self._notes)
        except ValueError as error:
            raise RunFileError(self.path, str(error)) from error

    @cached_property
    def captures(self) -> tuple[Capture, ...]:
        """What a replay noted of single events; raises RunFileError if the notes are damaged."""
        try:
            return read_captures(self.notes.values)
        except ValueError as error:
            raise RunFileError(self.path, f"values: {error}") from error

    @cached_property
    def record(self) -> Record | None:
        """What was recorded, None if the run was not; raises RunFileError if it makes no sense."""
        how = self.notes.record
        if how is None:
            return None
        threads = tuple(self._thread_log(thread) for thread in self.threads)
        for thread in threads:
            positions = thread.values["position"]
            if len(positions) and int(positions.max()) > len(thread.events):
                raise RunFileError(self.path, "values: positions past the end of the log")
        return Record(how, threads)

    def _thread_log(self, thread: Thread) -> ThreadLog:
        events, values, branches = (
            _of_thread(rows, thread.index) for rows in (self._log, self._values, self._branches)
        )
        return ThreadLog(thread.index, thread.path, events, values, outcomes(branches))

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The failures that the target's process noted, first one first."""
        return self.notes.failures

    @cached_property
    def caught(self) -> tuple[Caught, ...]:
        """Exceptions that the target caught before it failed, and errors that calls returned."""
        return self.notes.caught

    def locate(self, frame_of: Callable[[int], Frame | None]) -> None:
        """Name the lines at which calls returned errors: a C program knows only sites."""
        if any(one.site for one in self.caught):
            self.caught = tuple(_located(one, frame_of) for one in self.caught)

    @property
    def failing_thread(self) -> str:
        """The path of the thread that failed, first of all with an exception that it swallowed."""
        paths = [one.thread for one in self.caught if one.kind == self.failing_point]
        return next(iter([*paths, *(one.thread for one in self.failures)]), "0")

    @property
    def ends(self) -> dict[int, int]:
        """By thread: the time at which it failed. What it did later is no evidence."""
        since = [(one.thread, one.since) for one in self.failures[:1] if one.since]
        since += [(one.thread, one.time) for one in self.caught if one.kind == self.failing_point]
        found: dict[int, int] = {}
        for path, time in since:
            for thread in (one.index for one in self.threads if one.path == path):
                found[thread] = min(time, found.get(thread, time))
        return found

    @property
    def variables(self) -> dict[int, str]:
        """Names of the variables that sites touched, by raw site id."""
        return self.notes.variables

    @property
    def codes(self) -> tuple[Code, ...]:
        """Code objects that this run loaded after the fork."""
        return self.notes.codes


def _located(one: Caught, frame_of: Callable[[int], Frame | None]) -> Caught:
    frame = frame_of(one.site) if one.site else None
    return one if frame is None else replace(one, frames=(frame,), by=frame)


class _DamagedError(Exception):
    """The reason why a file is refused; `parse_run` adds the path."""


def _require(condition: bool, reason: str) -> None:
    if not condition:
        raise _DamagedError(reason)


def _of_thread(rows: Records, index: int) -> Records:
    # Sorted by thread: _logged() has checked it.
    threads = rows["thread"]
    low, high = (np.searchsorted(threads, index, side=side) for side in ("left", "right"))
    return rows[low:high]


def _are_kinds(kinds: Records) -> bool:
    if not len(kinds):
        return True
    plain = kinds % FINE
    return bool(plain.min() >= _LEAST_KIND and plain.max() <= _MOST_KIND and kinds.max() < 2 * FINE)


def _word(kind: int) -> str:
    return Section(kind).name.lower()


def _sections(data: bytes) -> dict[int, bytes | memoryview]:
    """Splits a file into the payloads of its sections; skips kinds that are not known."""
    count = _section_count(data)
    view = memoryview(data)
    payloads: dict[int, bytes | memoryview] = {}
    offset = layout.FILE_HEADER.size
    for _ in range(count):
        start = offset + layout.SECTION_HEADER.size
        _require(start <= len(data), "ends inside a section header")
        kind, record_size, size = layout.SECTION_HEADER.unpack_from(data, offset)
        offset = start + size + -size % layout.ALIGNMENT
        _require(offset <= len(data), f"section {kind} reaches past the end of the file")
        _require(kind not in payloads, f"section {kind} appears twice")
        _check_record_size(kind, record_size, size)
        payloads[kind] = view[start : start + size]
    _require(offset == len(data), "has bytes after its last section")
    return payloads


def _section_count(data: bytes) -> int:
    _require(data[: len(layout.MAGIC)] == layout.MAGIC, "not a run file")
    _require(len(data) >= layout.FILE_HEADER.size, "ends inside its header")
    _, version, sections, size, _ = layout.FILE_HEADER.unpack_from(data)
    _require(
        version == layout.VERSION,
        f"has format version {version}, this unsnarl reads version {layout.VERSION}",
    )
    _require(size == len(data), f"has {len(data)} bytes where its header says {size}")
    return int(sections)


def _check_record_size(kind: int, record_size: int, size: int) -> None:
    record = layout.RECORDS.get(kind)  # type: ignore[call-overload]
    if record is None:
        return
    expected = record.itemsize
    # Texts are made where they are needed: every run is read, and hardly one is damaged.
    if record_size != expected:
        text = f"{_word(kind)}: records of {record_size} bytes, expected {expected}"
        raise _DamagedError(text)
    if size % expected:
        raise _DamagedError(f"{_word(kind)}: {size} bytes are no whole number of records")


def _records(payloads: dict[int, bytes | memoryview], kind: Section) -> Records:
    return np.frombuffer(payloads.get(kind, b""), dtype=layout.RECORDS[kind])


def _threads(records: Records) -> tuple[Thread, ...]:
    threads = sorted((_thread(row) for row in records.tolist()), key=lambda thread: thread.index)
    for position, thread in enumerate(threads):
        _require(thread.index == position, "threads: indexes have a gap or repeat")
        # The first thread is its own parent.
        _require(thread.parent < max(position, 1), "threads: a parent younger than its child")
    return tuple(threads)


def _thread(row: tuple[int, int, int, int, int, bytes, bytes]) -> Thread:
    index, parent, flags, kind, events, path, name = row
    path = path.partition(b"\0")[0]
    _require(_PATH.fullmatch(path) is not None, f"threads: {path!r} is no path")
    return Thread(
        index=index,
        parent=parent,
        path=path.decode("ascii"),
        name=name.partition(b"\0")[0].decode("utf-8", "replace"),
        events=events,
        controlled=bool(flags & ThreadFlag.CONTROLLED),
        daemon=bool(flags & ThreadFlag.DAEMON),
        ended=bool(flags & ThreadFlag.ENDED),
        kind=kind,
    )


def _counters(values: Records) -> dict[str, int]:
    # A process that was killed has left no counters, only pieces of logs.
    written = values.tolist() + [0] * len(layout.COUNTERS)
    return dict(zip(layout.COUNTERS, written, strict=False))


def _waits(records: Records, threads: int) -> tuple[Wait, ...]:
    waits = []
    for thread, point, owner, taken, held, time in records.tolist():
        _require(owner < threads or owner == layout.NOBODY, "waits: no such owner")
        by = -1 if owner == layout.NOBODY else owner
        waits.append(Wait(thread, point, by, held, taken, time))
    return tuple(waits)


def _standstills(records: Records, threads: int) -> tuple[Standstill, ...]:
    found: list[Standstill] = []
    if not len(records):
        return ()
    for number in np.unique(records["number"]).tolist():
        rows = records[records["number"] == number]
        waits = _waits(rows[list(layout.WAIT.names or ())], threads)
        flags = rows["flags"].tolist()
        ran_out = [
            wait.thread
            for wait, flag in zip(waits, flags, strict=True)
            if flag & StandstillFlag.RAN_OUT
        ]
        _require(len(ran_out) == 1, "standstills: no time limit ran out, or two did")
        limits = {
            wait.thread: limit / 1e9
            for wait, limit in zip(waits, rows["limit"].tolist(), strict=True)
            if limit
        }
        alone = bool(flags[0] & StandstillFlag.ALONE)
        found.append(Standstill(waits, int(rows["time"].max()), ran_out[0], limits, alone))
    return tuple(found)
