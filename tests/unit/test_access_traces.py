# SPDX-License-Identifier: Apache-2.0
"""The file of an access trace: what goes in comes out, and what is damaged is refused."""

from __future__ import annotations

import contextlib
import struct
import sys
import types
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unsnarl.errors import UsageError
from unsnarl.model.access_trace import EVENT, NO_THREAD, EventKind, TrackerOptions
from unsnarl.runfile import RunFileError, layout, pieces
from unsnarl.traces import codecs, files
from unsnarl.traces.files import Trace


def events(count: int, seed: int = 0) -> np.ndarray:
    chance = np.random.default_rng(seed)
    rows = np.zeros(count, EVENT)
    rows["time"] = np.cumsum(chance.integers(0, 5, count))
    rows["cell"] = chance.integers(1, 63, count)
    rows["address"] = chance.integers(0, 2**63, count, dtype=np.uint64)
    rows["point"] = chance.integers(0, 1000, count) << 4 | chance.integers(0, 10, count)
    rows["thread"] = chance.integers(0, 70, count)
    rows["kind"] = chance.integers(1, 8, count)
    return rows


def written(path, rows, **more):
    return files.write(path, iter([rows]), TrackerOptions(), **more)


def whole(path) -> np.ndarray:
    return np.concatenate([np.empty(0, EVENT), *Trace(path).blocks()])


def piece(path, rows, spare: int = 100) -> None:
    """What a run leaves: a page with a header, the events, and room for more."""
    section = layout.Section.EVENTS
    header = pieces.HEADER.pack(pieces.MAGIC, layout.VERSION, section, EVENT.itemsize, 0)
    data = header.ljust(pieces.HEADER_BYTES, b"\0") + rows.tobytes() + bytes(spare * EVENT.itemsize)
    pieces.events_path(path).write_bytes(data)


@given(st.integers(0, 300), st.integers(0, 2**32))
@settings(deadline=None, max_examples=50)
def test_what_is_written_is_read(tmp_path_factory, count, seed):
    path = tmp_path_factory.mktemp("trace") / "1.trace"
    rows = events(count, seed)
    blocks = [rows[at : at + 50] for at in range(0, count, 50)]
    options = TrackerOptions(context_size=3, own_reads=True)
    stored = files.write(path, iter(blocks), options, dropped=7)
    trace = Trace(path)
    assert (trace.events, trace.dropped, trace.options) == (count, 7, options)
    assert stored == (path, count, path.stat().st_size)
    np.testing.assert_array_equal(whole(path), rows)


def test_a_run_leaves_a_piece_and_the_parent_makes_a_trace_of_it(tmp_path):
    run, rows = tmp_path / "000007.run", events(2 * files.BLOCK + 5)
    piece(run, rows)
    stored = files.gather(run, TrackerOptions())
    assert stored is not None
    assert stored.path == tmp_path / "000007.trace"
    assert not pieces.events_path(run).exists()
    assert [len(block) for block in Trace(stored.path).blocks()] == [files.BLOCK, files.BLOCK, 5]
    np.testing.assert_array_equal(whole(stored.path), rows)
    assert files.gather(run, TrackerOptions()) is None


def test_an_event_that_the_process_did_not_live_to_finish_is_none(tmp_path):
    run, rows = tmp_path / "1.run", events(10)
    rows["kind"][9] = 0
    piece(run, rows)
    stored = files.gather(run, TrackerOptions())
    assert stored is not None
    assert stored.events == 9


def test_events_compress(tmp_path):
    """Of a loop: hundreds of thousands of accesses, in a byte or two each."""
    count = 200_000
    rows = np.zeros(count, EVENT)
    rows["time"] = np.arange(count)
    rows["address"] = 0x7F00_0000_0000 + np.arange(count) % 64 * 8
    rows["cell"] = rows["address"] * 3 + 1
    rows["point"] = (np.arange(count) % 7 + 1) << 4
    rows["kind"] = EventKind.READ
    stored = written(tmp_path / "1.trace", rows)
    assert stored.bytes < 2 * count
    np.testing.assert_array_equal(whole(stored.path), rows)


def test_a_piece_of_something_else_is_refused_and_stays(tmp_path):
    run = tmp_path / "1.run"
    pieces.events_path(run).write_bytes(b"nonsense" * 10)
    with pytest.raises(RunFileError, match="no events of a run"):
        files.gather(run, TrackerOptions())
    assert pieces.events_path(run).exists()
    assert not list(tmp_path.glob("*.trace*"))


@pytest.mark.parametrize("codec", ["zlib", "zstd"])
def test_both_codecs_keep_to_the_length_that_a_block_says(codec):
    found = codecs.named(codec)
    assert found is not None
    data = found.compress(b"x" * 1000)
    assert found.decompress(data, 1000) == b"x" * 1000
    for wrong in (999, 1001, 0):
        with pytest.raises(ValueError):
            found.decompress(data, wrong)
    with pytest.raises(ValueError):
        found.decompress(data[:-1], 1000)
    with pytest.raises(ValueError):
        found.decompress(b"nonsense", 1000)


def without_zstd(monkeypatch):
    monkeypatch.setattr(codecs, "_zstd", lambda: None)


def test_without_zstd_it_is_zlib(tmp_path, monkeypatch):
    without_zstd(monkeypatch)
    rows = events(1000)
    stored = written(tmp_path / "1.trace", rows)
    assert b"zlib" in stored.path.read_bytes()[: files.HEADER.size]
    np.testing.assert_array_equal(whole(stored.path), rows)


def test_a_trace_that_needs_what_is_not_there_says_so(tmp_path, monkeypatch):
    stored = written(tmp_path / "1.trace", events(10))
    assert b"zstd" in stored.path.read_bytes()[: files.HEADER.size]
    without_zstd(monkeypatch)
    with pytest.raises(UsageError, match="zstd") as error:
        Trace(stored.path)
    assert error.value.slug == "no-codec"


def test_the_interpreters_own_zstd_comes_first(monkeypatch):
    """From 3.14 on. Here a stand-in: what is asked of it is what its documentation has."""

    class Decompressor:
        eof = True

        def decompress(self, data, size):
            return zlib.decompress(data)[:size]

    own = types.ModuleType("compression.zstd")
    own.ZstdDecompressor, own.ZstdError = Decompressor, zlib.error
    own.compress = lambda data, level: zlib.compress(data)
    monkeypatch.setitem(sys.modules, "compression", types.ModuleType("compression"))
    monkeypatch.setitem(sys.modules, "compression.zstd", own)
    codec = codecs.best()
    assert codec.decompress(codec.compress(b"abc"), 3) == b"abc"
    assert zlib.decompress(codec.compress(b"abc")) == b"abc"


class TestDamage:
    @pytest.fixture
    def path(self, tmp_path):
        return written(tmp_path / "1.trace", events(500)).path

    def refused(self, path, data, match):
        path.write_bytes(data)
        with pytest.raises(RunFileError, match=match):
            whole(path)

    def test_cut_short(self, path):
        data = path.read_bytes()
        self.refused(path, data[:10], "inside a header")
        self.refused(path, data[:-1], "damaged")
        cut = data[: files.HEADER.size + struct.unpack_from("<I", data, 36)[0]]
        self.refused(path, cut, "has 0 events")
        self.refused(path, data + b"abc", "inside a header")

    def test_something_else(self, path):
        data = path.read_bytes()
        self.refused(path, b"UNSNARL\x1a" + data[8:], "no access trace")
        self.refused(path, data[:8] + b"\x09" + data[9:], "version 9")
        self.refused(path, data[:12] + bytes(20), "header")

    def test_any_byte(self, path):
        """Refused, or by chance something that makes sense; never an error of ours."""
        data = path.read_bytes()
        for at in range(0, len(data), 7):
            path.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
            with contextlib.suppress(RunFileError, UsageError):
                whole(path)

    @pytest.mark.parametrize(
        ("field", "value"),
        [("kind", 0), ("kind", 8), ("cell", 0), ("point", 15), ("thread", NO_THREAD)],
    )
    def test_impossible_events(self, tmp_path, field, value):
        rows = events(10)
        rows["kind"] = EventKind.READ
        rows[field][5] = value
        path = written(tmp_path / "1.trace", rows).path
        with pytest.raises(RunFileError, match="impossible events"):
            whole(path)

    def test_a_thread_has_one_of_the_ids_that_there_are(self, tmp_path):
        rows = events(3)
        rows["kind"], rows["cell"] = EventKind.THREAD, 64
        path = written(tmp_path / "1.trace", rows).path
        with pytest.raises(RunFileError, match="impossible events"):
            whole(path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(RunFileError, match="cannot be read"):
        Trace(tmp_path / "none.trace")


def test_a_full_disk_costs_the_trace_only(tmp_path, monkeypatch):
    run = tmp_path / "1.run"
    piece(run, events(10))

    def full(block):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "_packed", full)
    with pytest.raises(RunFileError, match="No space left"):
        files.gather(run, TrackerOptions())
    assert not list(tmp_path.glob("*.trace*"))
