# SPDX-License-Identifier: Apache-2.0
"""Anchored schedules: made of a run, found again in code that has changed."""

from __future__ import annotations

import json
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from tests.unit.runfile_writer import notes, records, run_file, thread

from unsnarl.model.event import Op
from unsnarl.model.python_names import plain_function
from unsnarl.model.run import RunRecord
from unsnarl.probes.python.line_sites import LineSites
from unsnarl.probes.python.registry import Registry
from unsnarl.replay.anchors import (
    TO_THE_END,
    Anchor,
    AnchoredSchedule,
    Anchorer,
    Codes,
    Resolved,
    StoredSegment,
    plan_of,
    resolve,
    with_stops,
)
from unsnarl.runfile import SiteTable
from unsnarl.runfile.codes import Code, SiteEntry
from unsnarl.runfile.layout import SEGMENT, Section
from unsnarl.runfile.reader import parse_run

SOURCE = """\
def size(self):
    with self.lock:
        return self.qsize

def twice(self):
    self.qsize += 1
    print()
    self.qsize += 1
"""
SIZE = Code(
    10,
    20,
    "/project/queue.py",
    "size",
    1,
    (
        SiteEntry(2, "attr_read", "lock", 2),
        SiteEntry(5, "call", "", 2),
        SiteEntry(9, "attr_read", "qsize", 3),
    ),
)
TWICE = Code(
    40,
    20,
    "/project/queue.py",
    "twice",
    5,
    (
        SiteEntry(1, "attr_read", "qsize", 6),
        SiteEntry(3, "attr_write", "qsize", 6),
        SiteEntry(7, "attr_read", "qsize", 8),
        SiteEntry(9, "attr_write", "qsize", 8),
    ),
)
READ_SIZE = Anchor("queue.py", "size", 3, "return self.qsize", 0, "qsize", Op.READ)
BEGIN = Anchor("", "", 0, "", 0, "", Op.BEGIN)
START = Anchor("", "", 0, "", 0, "", Op.ACQUIRE)


@pytest.fixture
def project(tmp_path):
    """Makes the codes of a source text, whose functions are moved down by some lines."""

    def make(source=SOURCE, codes=(SIZE, TWICE), down=0):
        (tmp_path / "queue.py").write_text(source)
        here = [_moved(code, str(tmp_path / "queue.py"), down) for code in codes]
        return Codes(here, tmp_path)

    return make


def _moved(code: Code, file: str, down: int) -> Code:
    sites = tuple(msgspec.structs.replace(one, line=one.line + down) for one in code.sites)
    return msgspec.structs.replace(code, file=file, line=code.line + down, sites=sites)


def schedule_of(places, steps) -> AnchoredSchedule:
    steps = tuple(StoredSegment(*one) for one in steps)
    return AnchoredSchedule(1, 7, "boom", "gil", 3, "3.11.7", tuple(places), steps)


def stops_of(*rows):
    """By (thread, until): (segment, its thread's next one)."""
    segments = np.array([(thread, 0, until, 0) for thread, until in rows], dtype=SEGMENT)
    return list(zip(*(column.tolist() for column in with_stops(segments)), strict=True))


def test_a_segment_ends_where_its_thread_takes_up_again():
    assert stops_of((0, 5), (1, 3), (0, 9)) == [(0, 2), (1, -1), (2, -1)]


def test_where_a_thread_waits_at_the_end_of_the_run_ends_its_last_segment():
    assert stops_of((1, 3), (1, 3), (2, 0)) == [(0, 1)]


def test_the_first_thread_may_do_nothing_before_it_is_switched_away():
    assert [one for one, _ in stops_of((0, 0), (1, 3), (0, 2))] == [0, 1, 2]


def test_a_schedule_is_anchored_by_function_text_operation_name_and_occurrence(tmp_path):
    (tmp_path / "queue.py").write_text(SOURCE)
    file = str(tmp_path / "queue.py")
    codes = [msgspec.to_builtins(_moved(code, file, 0)) for code in (SIZE, TWICE)]
    content = {"version": 1, "watermark": 100, "codes": codes}
    (tmp_path / "codes.json").write_text(json.dumps(content))
    rows = [(0, 0, 4, 0), (1, 6, 2, 0), (0, 47 << 4 | Op.READ, 9, 5), (1, 19 << 4, 2, 3)]
    threads = records(Section.THREADS, [thread(0, "0"), thread(1, "0.1")])
    run = parse_run(run_file([threads, records(Section.SCHEDULE, rows), notes()]))
    record = RunRecord(7, "fail", "boom", "walk", 3, "gil", 1, 0, 0.1, 2, 2)
    found = Anchorer(tmp_path / "codes.json", tmp_path, "3.11.7").schedule(record, run)
    second = Anchor("queue.py", "twice", 8, "self.qsize += 1", 1, "qsize", Op.READ)
    assert found.anchors == (second, READ_SIZE)
    assert found.segments == (
        StoredSegment("0", 0, 5),
        StoredSegment("0.1", 1, 3),
        StoredSegment("0", TO_THE_END, 0),
    )
    assert (found.run, found.signature, found.seed) == (7, "boom", 3)


def test_code_that_only_the_run_loaded_is_anchored_too(tmp_path):
    (tmp_path / "late.py").write_text("def g():\n    x\n")
    late = Code(100, 9, str(tmp_path / "late.py"), "g", 1, (SiteEntry(2, "global_read", "x", 2),))
    (tmp_path / "codes.json").write_text('{"version": 1, "watermark": 100, "codes": []}')
    rows = [(0, 0, 4, 0), (0, 102 << 4, 9, 1)]
    note = notes({"codes": [msgspec.to_builtins(late)]})
    threads = records(Section.THREADS, [thread(0, "0")])
    run = parse_run(run_file([threads, records(Section.SCHEDULE, rows), note]))
    record = RunRecord(7, "fail", "boom", "walk", 3, "gil", 1, 0, 0.1, 2, 2)
    found = Anchorer(tmp_path / "codes.json", tmp_path, "3.11.7").schedule(record, run)
    assert found.anchors == (Anchor("late.py", "g", 2, "x", 0, "x", Op.READ),)


def test_a_line_is_found_where_an_edit_above_has_moved_it(project):
    codes = project("import os\n\n" + SOURCE, down=2)
    resolved = resolve(READ_SIZE, codes)
    assert (resolved.points, resolved.fate) == ((19 << 4 | Op.READ,), "same")


@pytest.mark.parametrize("nth, site", [(0, 43), (1, 49), (4, 49)])
def test_equal_lines_of_a_function_are_told_apart_by_their_order(project, nth, site):
    place = Anchor("queue.py", "twice", 6, "self.qsize += 1", nth, "qsize", Op.WRITE)
    assert site << 4 | Op.WRITE in resolve(place, project()).points


def test_a_line_that_was_rewritten_is_taken_for_the_one_most_like_it_and_said(project):
    codes = project(SOURCE.replace("return self.qsize", "return self.qsize + 0"))
    resolved = resolve(READ_SIZE, codes)
    assert (resolved.points, resolved.fate) == ((19 << 4 | Op.READ,), "changed")


@pytest.mark.parametrize("field", ["function", "name", "file"])
def test_what_is_not_there_any_more_is_gone(project, field):
    place = msgspec.structs.replace(READ_SIZE, **{field: "another"})
    resolved = resolve(place, project())
    assert (resolved.points, resolved.fate) == ((), "gone")


def test_a_line_that_another_python_counts_to_its_neighbour_has_not_changed(project):
    # the text is there, but its access is listed under the line above
    sites = (SiteEntry(9, "attr_read", "qsize", 2), SiteEntry(12, "call", "", 3))
    source = SOURCE.replace("with self.lock:", "return self.qsize or (")
    codes = project(source, (msgspec.structs.replace(SIZE, sites=sites),))
    assert resolve(READ_SIZE, codes).fate == "moved"


def test_a_comprehension_belongs_to_its_function_and_a_slice_is_an_item(project):
    code = Code(
        70, 9, "queue.py", "size.<locals>.<listcomp>", 3, (SiteEntry(1, "shape_write", "[:]", 3),)
    )
    place = msgspec.structs.replace(READ_SIZE, name="[]", op=int(Op.WRITE))
    assert resolve(place, project(codes=(code,))).points == (71 << 4 | Op.WRITE,)


@pytest.mark.parametrize(
    "qualified, plain",
    [
        ("Queue.size", "Queue.size"),
        ("main.<locals>.<listcomp>", "main"),
        ("main.<locals>.<listcomp>.<locals>.<dictcomp>", "main"),
        ("main.<locals>.<genexpr>", "main.<locals>.<genexpr>"),
        ("main.<locals>.work", "main.<locals>.work"),
        ("<setcomp>", "<module>"),
        ("Queue.<listcomp>", "Queue"),
    ],
)
def test_the_function_of_a_qualified_name(qualified, plain):
    assert plain_function(qualified) == plain


def test_the_gate_is_told_raw_points_and_steps_that_are_gone_are_left_out(project):
    gone = msgspec.structs.replace(READ_SIZE, function="another")
    steps = [("0", 0, 4), ("0.1", 1, 1), ("0", 2, 5), ("0.1", TO_THE_END, 0)]
    schedule = schedule_of([READ_SIZE, gone, BEGIN], steps)
    codes = project()
    resolved = {at: resolve(place, codes) for at, place in enumerate(schedule.anchors)}
    rows, numbers = plan_of(schedule, resolved)
    assert rows == [("0", [19 << 4], 4), ("0", [Op.BEGIN], 0), ("0.1", [], 0)]
    assert numbers == [0, 2, 3]


def test_a_loose_plan_leaves_out_waits_in_libraries(project):
    own = Anchor("queue.py", "size", 2, "with self.lock:", 0, "", Op.ACQUIRE)
    library = Anchor("queue.py", "twice", 7, "print()", 0, "", Op.ACQUIRE)
    schedule = schedule_of([START, own, library], [("0", at, 1) for at in range(3)])
    resolved = {at: resolve(place, project()) for at, place in enumerate(schedule.anchors)}
    resolved[2] = resolved[1]
    kept = [plan_of(schedule, resolved, looseness)[1] for looseness in range(3)]
    assert kept == [[0, 1, 2], [1, 2], [1]]


def test_the_head_of_a_loop_that_is_compiled_twice_is_one_place():
    source = (
        "def drain(queue):\n    while queue.size:\n        queue.take()\n    return queue.size\n"
    )
    code = next(one for one in compile(source, "q.py", "exec").co_consts if hasattr(one, "co_code"))
    units = [
        unit
        for unit, position in enumerate(code.co_positions())
        if position[0] in (2, 4) and code.co_code[2 * unit] not in (0,)
    ]
    registry = Registry()
    labels = dict.fromkeys(units, ("attr_read", "size"))
    base = registry.allocate(code, len(code.co_code) // 2, 0, lambda: labels)
    first = LineSites(registry.blocks, registry.dump()).first
    lines = [position[0] for position in code.co_positions()]
    assert len({first[base + unit] for unit in units if lines[unit] == 2}) == 1
    assert len({first[base + unit] for unit in units}) == 2


STORED = (
    '{"version":1,"run":7,"signature":"boom","switch":"gil","seed":3,"python":"3.11.7",'
    '"places":[["queue.py","size",3,"return self.qsize",0,"qsize",0]],'
    '"steps":[["0.1",0,3],["0",-1,0]],'
    '"constraints":[[["0.2",0,1,0,1],["0.1",0,1,0,1],["0.1",0,2,-1,1]]]}'
)


def test_schedules_keep_the_form_in_which_earlier_campaigns_stored_them():
    stored = msgspec.json.decode(STORED, type=AnchoredSchedule)
    assert stored.anchors == (READ_SIZE,)
    assert stored.segments == (StoredSegment("0.1", 0, 3), StoredSegment("0", TO_THE_END, 0))
    assert stored.constraints[0].hold.path == "0.1"
    # An anchor has one element more since, at its end.
    assert msgspec.json.encode(stored).decode() == STORED.replace('"qsize",0]', '"qsize",0,0]')


def test_a_wait_inside_of_a_call_is_anchored_behind_what_is_listed(project, tmp_path):
    """`thread.join(5)` waits at an instruction that is no site of its own."""
    unlisted = SIZE.base + 12
    site, shift = SiteTable([SIZE, TWICE], "/project").nearest(unlisted)
    assert (site.line, site.name, shift) == (3, "qsize", 3)
    anchor = msgspec.structs.replace(READ_SIZE, op=Op.ACQUIRE, shift=shift)
    moved = project("\n\n" + SOURCE, down=2)
    assert resolve(anchor, moved) == Resolved((unlisted << 4 | Op.ACQUIRE,), "same")


@pytest.mark.parametrize(("shared", "reads"), [(1000, 2), (0, 4)])
def test_runs_that_loaded_the_same_code_late_share_one_list(tmp_path, monkeypatch, shared, reads):
    codes = {
        "version": 1,
        "watermark": 10,
        "modules": 0,
        "probes": 0,
        "codes": [],
        "shared": shared,
    }
    (tmp_path / "codes.json").write_text(json.dumps(codes))
    read = []
    load = Codes.load
    monkeypatch.setattr(
        Codes, "load", lambda *given, **more: read.append(1) or load(*given, **more)
    )
    anchorer = Anchorer(tmp_path / "codes.json", tmp_path, "3.11.7")
    late = SimpleNamespace(codes=(msgspec.structs.replace(SIZE, base=20),))
    found = [anchorer._codes_of(late) for _ in range(3)]
    assert len(read) == reads
    assert all(one.knows("/project/queue.py", "size") for one in found)
