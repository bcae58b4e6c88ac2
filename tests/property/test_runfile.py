# SPDX-License-Identifier: Apache-2.0
"""No bytes, however damaged, make the reader do anything but read or refuse."""

from __future__ import annotations

import contextlib
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.runfile_writer import edge, notes, records, run_file, section, thread

from unsnarl.model.event import Op
from unsnarl.runfile import Interner, RunFileError, SiteTable, pieces
from unsnarl.runfile.layout import MAGIC, THREAD, VERSION, Section
from unsnarl.runfile.reader import parse_run

GOOD = run_file(
    [
        notes(
            {"failure": {"kind": "exception", "frames": [["a.py", 1, "f"]]}},
            {"variables": {"3": "x"}},
            {"codes": [{"base": 0, "size": 9, "file": "a.py", "function": "f", "sites": []}]},
            {"record": {"level": "func", "order": "clocks", "slack": 7}},
        ),
        records(Section.THREADS, [thread(0, "0", "main"), thread(1, "0.1", "worker")]),
        records(Section.EDGES, [edge(16, 33, cell=4), edge(33, 16, sink_context=7)]),
        records(Section.SCHEDULE, [(0, 16, 3), (1, 33, 4)]),
        records(Section.COUNTS, [(1, 2, 3, 2)]),
        section(Section.SHARED, b"\1\0\0\0", 4),
        section(Section.COUNTERS, bytes(128), 8),
        records(Section.WAITS, [(0, 18, 1, 0, 5)]),
        records(Section.TRACE, [(1, 4, 16, 0, 0)]),
        records(Section.LOG, [(7, 27, 0, 1), (8, 18, 1, 0), (9, 19, 1, 0)]),
        records(Section.VALUES, [(4, 1, 16, 1, 0, 3), (4, 2, 17, 2, 1, 1)]),
        records(Section.BRANCHES, [(5, 0, 1, 3)]),
    ]
)


def thread_row(index: int, path: str) -> bytes:
    """The bytes of one thread record."""
    return np.array([thread(index, path)], THREAD).tobytes()


def use(data: bytes) -> None:
    """Does with a run all that the program does with it."""
    run = parse_run(data)
    assert all(segment.path for segment in run.schedule)
    for thread_ in run.threads:
        assert run.threads[thread_.parent]
    for wait in run.waits:
        assert run.threads[wait.thread] and (wait.owner == -1 or run.threads[wait.owner])
    for end in ("source_thread", "sink_thread"):
        assert all(run.threads[index] for index in run.edges[end].tolist())
    interner = Interner(SiteTable([], "/"))
    for row in interner.graph(run).edges:
        assert interner.point(int(row["source_point"])).op.word
    assert all(failure.kind for failure in run.failures)
    for log in run.record.threads if run.record else ():
        assert run.threads[log.thread].path == log.path
        assert all(Op(point & 15).word for point in log.events["point"].tolist())
        assert all(place <= len(log.events) for place in log.values["position"].tolist())
        assert len(log.branches) <= 64


def test_the_undamaged_file_is_read():
    use(GOOD)


@given(st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)), max_size=8))
@settings(deadline=None, max_examples=500)
def test_changed_bytes_are_read_or_refused(changes):
    data = bytearray(GOOD)
    for place, value in changes:
        data[place] = value
    with contextlib.suppress(RunFileError):
        use(bytes(data))


@given(st.integers(0, len(GOOD) - 1))
@settings(deadline=None)
def test_a_file_cut_short_is_refused(length):
    try:
        use(GOOD[:length])
    except RunFileError:
        return
    raise AssertionError("a truncated file was read")


@given(st.integers(0, len(GOOD)), st.binary(min_size=1, max_size=40))
@settings(deadline=None)
def test_inserted_bytes_are_refused(place, extra):
    try:
        use(GOOD[:place] + extra + GOOD[place:])
    except RunFileError:
        return
    raise AssertionError("a file with inserted bytes was read")


@given(st.binary(max_size=200), st.booleans())
@settings(deadline=None)
def test_foreign_bytes_are_refused(data, magic):
    with contextlib.suppress(RunFileError):
        use(MAGIC + data if magic else data)


@given(
    st.lists(
        st.tuples(*[st.integers(0, 2**32 - 1)] * 2, st.integers(0, 2**16 - 1)),
        max_size=5,
    )
)
@settings(deadline=None)
def test_edges_come_back_as_written(rows):
    edges = [edge(s & ~15, t & ~15, sink_context=context) for s, t, context in rows]
    threads = records(Section.THREADS, [thread(0, "0"), thread(1, "0.1")])
    run = parse_run(run_file([threads, records(Section.EDGES, edges)]))
    assert [tuple(row) for row in run.edges.tolist()] == edges


PIECE = (
    pieces.HEADER.pack(pieces.MAGIC, VERSION, Section.LOG, 8, 0)
    + thread_row(1, "0.1")
    + bytes(pieces.HEADER_BYTES - pieces.HEADER.size - 136)
    + bytes.fromhex("1f00000000000000 0e00000005000000 1b00000001000000 1c00000002000000") * 3
    + bytes(64)
)


@given(
    st.integers(0, len(PIECE)),
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=6),
)
@settings(deadline=None, max_examples=300)
def test_damaged_pieces_of_a_log_are_read_or_refused(length, changes):
    data = bytearray(PIECE)
    for place, value in changes:
        data[place] = value
    with TemporaryDirectory() as folder:
        run = Path(folder, "1.run")
        Path(folder, "1.run.log.1").write_bytes(data[:length])
        with contextlib.suppress(RunFileError):
            pieces.gather(run, {"record": {"level": "func"}})
            use(run.read_bytes())
