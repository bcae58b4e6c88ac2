# SPDX-License-Identifier: Apache-2.0
"""Logs of recorded runs: pieces put together, and read back."""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.runfile_writer import notes, records, run_file, thread

from unsnarl.campaigns.store import Store
from unsnarl.errors import UsageError
from unsnarl.model.record import BRANCH, LOG, VALUE, outcomes
from unsnarl.model.run import RunRecord
from unsnarl.recording.stored_records import load_record
from unsnarl.runfile import RunFileError, layout, pieces, read_run
from unsnarl.runfile.layout import Section
from unsnarl.runfile.reader import parse_run

READ, ACQUIRE, ENTER = 16, 18, 27
HOW = {"record": {"level": "func"}}
THREADS = records(Section.THREADS, [thread(0, "0"), thread(1, "0.1")])


def piece(folder, kind, index, rows, *, room=4, size=None, path="0"):
    """A thread's file, with room for more records behind those written."""
    section = pieces.KINDS[kind]
    dtype = pieces.STORED[section]
    rows = packed(rows) if kind == "log" else rows
    header = pieces.HEADER.pack(pieces.MAGIC, layout.VERSION, section, size or dtype.itemsize, 0)
    owner = np.zeros(1, layout.THREAD)
    owner["index"], owner["path"] = index, path.encode()
    page = (header + owner.tobytes()).ljust(pieces.HEADER_BYTES, b"\0")
    body = np.array(rows, dtype).tobytes() + bytes(room * dtype.itemsize)
    (folder / f"000001.run.{kind}.{index}").write_bytes(page + body)


def packed(events):
    """Events (stamp, point, thread, core) as a thread writes them."""
    rows, before = [], None
    for stamp, point, _, core in events:
        if before is None or before[1] != core or not 0 <= stamp - before[0] < 1 << 32:
            rows += [(core << 4 | pieces.CORE, stamp >> 32), (pieces.LOW, stamp & 0xFFFF_FFFF)]
            before = (stamp, core)
        rows.append((point, stamp - before[0]))
        before = (stamp, core)
    return rows


def gathered(folder):
    run = folder / "000001.run"
    pieces.gather(run, HOW)
    assert not pieces.paths(run)
    return read_run(run).record


def test_pieces_become_one_file(tmp_path):
    run = tmp_path / "000001.run"
    run.write_bytes(run_file([notes({"variables": {"1": "x"}}), THREADS]))
    piece(tmp_path, "log", 1, [(7, ENTER, 1, 0), (9, READ, 1, 1)], path="0.1")
    piece(tmp_path, "log", 0, [(5, ACQUIRE, 0, 0)])
    record = gathered(tmp_path)
    assert [thread.events["stamp"].tolist() for thread in record.threads] == [[5], [7, 9]]
    assert record.events == 3
    assert record.how.level == "func"
    assert read_run(run).variables == {1: "x"}


def test_more_than_ten_threads_stay_in_order(tmp_path):
    for index in range(12):
        piece(tmp_path, "log", index, [(index + 1, ENTER, index, 0)], path=str(index))
    record = gathered(tmp_path)
    assert [int(thread.events["stamp"][0]) for thread in record.threads] == [*range(1, 13)]


def test_a_process_that_was_killed_leaves_its_threads(tmp_path):
    piece(tmp_path, "log", 0, [(5, ENTER, 0, 0)])
    piece(tmp_path, "log", 2, [(6, ENTER, 2, 0)], path="0.2", room=0)
    pieces.gather(tmp_path / "000001.run", HOW)
    run = read_run(tmp_path / "000001.run")
    assert [one.path for one in run.threads] == ["0", "1", "0.2"]
    assert [len(one.events) for one in run.record.threads] == [1, 0, 1]


def test_nothing_at_all_is_said(tmp_path):
    with pytest.raises(RunFileError, match="left nothing"):
        pieces.gather(tmp_path / "000001.run", HOW)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "ends inside its header"),
        (b"UNSPIECE" + bytes(5000), "is no log of a thread"),
        (b"SOMETHIN" + bytes(5000), "is no log of a thread"),
    ],
)
def test_pieces_that_are_none(tmp_path, data, reason):
    (tmp_path / "000001.run.log.0").write_bytes(data)
    with pytest.raises(RunFileError, match=reason):
        pieces.gather(tmp_path / "000001.run", HOW)


def test_stamps_survive_other_cores_and_long_times(tmp_path):
    events = [(1 << 40, ENTER, 0, 3), ((1 << 40) + 9, READ, 0, 3), (1 << 50, ENTER, 0, 3)]
    events += [((1 << 50) - 5, ENTER, 0, 1), ((1 << 50) - 5, READ, 0, 1)]
    piece(tmp_path, "log", 0, events)
    (thread_log,) = gathered(tmp_path).threads
    assert [tuple(row) for row in thread_log.events.tolist()] == events


@pytest.mark.parametrize("rows", [[(ENTER, 5)], [(pieces.LOW, 5)], [(3 << 4 | pieces.CORE, 0)] * 2])
def test_events_without_a_beginning_are_refused(tmp_path, rows, monkeypatch):
    monkeypatch.setattr("tests.unit.test_records.packed", lambda events: events)
    piece(tmp_path, "log", 0, rows)
    with pytest.raises(RunFileError, match="cannot be counted"):
        pieces.gather(tmp_path / "000001.run", HOW)


def test_a_process_that_died_while_it_began_to_count_anew(tmp_path, monkeypatch):
    rows = [*packed([(7, ENTER, 0, 0)]), (1 << 4 | pieces.CORE, 0)]
    monkeypatch.setattr("tests.unit.test_records.packed", lambda events: events)
    piece(tmp_path, "log", 0, rows)
    assert gathered(tmp_path).events == 1


def test_records_of_another_size(tmp_path):
    piece(tmp_path, "log", 0, [(5, ENTER, 0, 0)], size=24)
    with pytest.raises(RunFileError, match="records of 24 bytes, expected 8"):
        pieces.gather(tmp_path / "000001.run", HOW)


def test_a_piece_that_is_cut_in_a_record_loses_that_one(tmp_path):
    piece(tmp_path, "log", 0, [(5, ENTER, 0, 0), (6, ENTER, 0, 0)], room=0)
    path = tmp_path / "000001.run.log.0"
    path.write_bytes(path.read_bytes()[:-3])
    assert gathered(tmp_path).events == 1


def test_values_of_one_threads_own_cells_are_left_out(tmp_path):
    piece(tmp_path, "log", 0, [(5, ENTER, 0, 0)])
    piece(tmp_path, "values", 0, [(4, 1, READ, 0, 0, 1, 0), (8, 2, READ, 1, 0, 1, 0)])
    piece(tmp_path, "values", 1, [(4, 3, READ, 0, 1, 1, 0)], path="0.1")
    piece(tmp_path, "log", 1, [(5, ENTER, 1, 0)], path="0.1")
    (first, second) = gathered(tmp_path).threads
    assert first.values["value"].tolist() == [1]
    assert second.values["value"].tolist() == [3]


def test_values_of_all_cells_are_kept_where_they_are_to_be_counted(tmp_path):
    piece(tmp_path, "log", 0, [(5, ENTER, 0, 0)])
    piece(tmp_path, "values", 0, [(4, 1, READ, 0, 0, 1, 0), (8, 2, READ, 1, 0, 1, 0)])
    run = tmp_path / "000001.run"
    pieces.gather(run, HOW, whole=True)
    (only,) = read_run(run).record.threads
    assert only.values["value"].tolist() == [1, 2]


def test_outcomes_come_first_one_first():
    rows = np.array([(0b101, 0, 0, 3), (0b10, 0, 0, 2)], BRANCH)
    assert outcomes(rows).tolist() == [True, False, True, False, True]
    full = np.array([(2**64 - 1, 0, 0, 64)], BRANCH)
    assert outcomes(full).all() and len(outcomes(full)) == 64
    assert outcomes(rows[:0]).tolist() == []


@pytest.mark.parametrize(
    ("sections", "reason"),
    [
        ([(Section.LOG, [(1, ENTER, 5, 0)])], "log: no such thread"),
        ([(Section.LOG, [(1, 15, 0, 0)])], "log: no such operation"),
        ([(Section.LOG, [(1, ENTER, 1, 0), (1, ENTER, 0, 0)])], "log: threads are mixed up"),
        ([(Section.VALUES, [(1, 1, READ, 9, 0, 0)])], "values: positions past the end"),
        ([(Section.BRANCHES, [(1, 0, 0, 65)])], "branches: too many in one row"),
    ],
)
def test_logs_that_make_no_sense_are_refused(sections, reason):
    data = run_file([notes(HOW), THREADS, *(records(kind, rows) for kind, rows in sections)])
    with pytest.raises(RunFileError, match=reason):
        assert parse_run(data).record


def test_a_run_that_was_not_recorded_has_no_record():
    assert parse_run(run_file([THREADS])).record is None


def test_a_level_that_nobody_knows_is_refused():
    data = run_file([notes({"record": {"level": "everything"}}), THREADS])
    with pytest.raises(RunFileError, match="note 1 cannot be read"):
        assert parse_run(data).record


RECORD = RunRecord(1, "fail", "SIGSEGV", "record", 0, "free", 139, 11, 0.1, 2, 0)


@pytest.fixture
def store(tmp_path):
    made = Store.create(tmp_path, ("prog",), tmp_path, tmp_path, options={}, python="3.11")
    yield made
    made.close()


def test_a_stored_record_is_loaded(store):
    store.run_file(1).write_bytes(run_file([notes(HOW), THREADS]))
    store.add(RECORD, "record", True)
    assert load_record(store, 1).logs.how.level == "func"


@pytest.mark.parametrize(
    ("content", "slug", "reason"),
    [
        (None, "no-run", "has no run 1"),
        (run_file([THREADS]), "no-run", "was not recorded"),
        (run_file([notes(HOW), THREADS])[:-9], "damaged-run-file", "bytes where its header says"),
        (b"nothing", "damaged-run-file", "not a run file"),
    ],
)
def test_what_cannot_be_loaded_is_said_in_one_message(store, content, slug, reason):
    if content is not None:
        store.run_file(1).write_bytes(content)
        store.add(RECORD, "record", True)
    with pytest.raises(UsageError, match=reason) as told:
        load_record(store, 1)
    assert (told.value.slug, told.value.exit_code) == (slug, 2)


def test_the_layouts_are_those_of_the_reader():
    assert (layout.RECORDS[Section.LOG], layout.RECORDS[Section.VALUES]) == (LOG, VALUE)
