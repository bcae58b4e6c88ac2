# SPDX-License-Identifier: Apache-2.0
"""Reading run files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.unit.runfile_writer import edge, notes, records, run_file, section, thread

from unsnarl.model.access_trace import EVENT
from unsnarl.model.pattern import FINE, PatternKind, kinds_of
from unsnarl.model.run import Failure, Frame, RuleEffect, Wait
from unsnarl.model.schedule import Segment
from unsnarl.runfile import RunFileError, layout, read_run
from unsnarl.runfile.captures import Capture, HeldLock
from unsnarl.runfile.layout import Section
from unsnarl.runfile.reader import parse_run

FORMAT = Path(__file__).parents[2] / "native/include/unsnarl/format.h"
THREADS = records(Section.THREADS, [thread(0, "0", "MainThread"), thread(1, "0.1", "worker", 0, 7)])
READ, ACQUIRE = 5 << 4, 6 << 4 | 2


def test_threads_keep_path_name_and_flags():
    first, second = parse_run(run_file([THREADS])).threads
    assert (first.path, first.name, first.parent, first.events) == ("0", "MainThread", 0, 0)
    assert (second.path, second.name, second.index, second.events) == ("0.1", "worker", 1, 10)
    assert (first.controlled, first.ended, first.daemon) == (True, False, False)
    assert (second.controlled, second.ended, second.daemon) == (True, True, True)


def test_threads_in_any_order_are_sorted_by_index():
    rows = [thread(1, "0.1"), thread(0, "0")]
    run = parse_run(run_file([records(Section.THREADS, rows)]))
    assert [one.path for one in run.threads] == ["0", "0.1"]


def test_a_name_cut_inside_a_character_is_still_read():
    row = (*thread(0, "0")[:6], "ä".encode() * 31 + b"a\xc3")
    assert parse_run(run_file([records(Section.THREADS, [row])])).threads[0].name[-2:] == "a\ufffd"


def test_schedule_names_threads_by_path():
    schedule = records(Section.SCHEDULE, [(0, READ, 3), (1, ACQUIRE, 2), (0, READ, 9)])
    run = parse_run(run_file([THREADS, schedule]))
    assert run.schedule == (
        Segment("0", 3, READ),
        Segment("0.1", 2, ACQUIRE),
        Segment("0", 9, READ),
    )


def test_edges_counts_shared_and_trace_are_arrays():
    run = parse_run(
        run_file(
            [
                THREADS,
                records(Section.EDGES, [edge(READ, ACQUIRE, cell=99)]),
                section(Section.SHARED, b"\x07\0\0\0", 4),
                records(Section.COUNTS, [(1, 5, 12, 4, 3)]),
                records(Section.TRACE, [(4, 99, READ, 1, 3)]),
            ]
        )
    )
    assert run.edges["cell"].tolist() == [99]
    assert run.shared.tolist() == [7]
    assert run.counts.tolist() == [(1, 5, 12, 4, 3, 0)]
    assert run.trace["time"].tolist() == [4]


def test_patterns_and_orders_are_arrays_and_checked():
    pattern = (READ, READ, 0, 0, 1, 3, 4, 99, 2, PatternKind.RW + FINE, 2)
    run = parse_run(
        run_file(
            [
                THREADS,
                records(Section.PATTERNS, [pattern]),
                records(Section.ORDERS, [(1, 0, 5, 5)]),
            ]
        )
    )
    assert run.patterns["span"].tolist() == [2]
    assert kinds_of(run.patterns).tolist() == [PatternKind.RW]
    assert run.orders.tolist() == [(1, 0, 5, 5)]
    for kind in (0, 11, FINE, 2 * FINE + 1):
        bad = records(Section.PATTERNS, [(*pattern[:9], kind)])
        with pytest.raises(RunFileError, match="patterns: no such kind"):
            parse_run(run_file([THREADS, bad]))


def test_rules_say_what_became_of_them():
    row = (5, 3, 1, 1, 0, 2, 40, 7)
    run = parse_run(run_file([THREADS, records(Section.RULES, [row, (1,)])]))
    assert run.rules == (RuleEffect(*row), RuleEffect(1, *[0] * 7))
    assert (run.rules[0].released, run.rules[0].held, run.rules[0].first_release) == (1, 40, 7)
    assert RuleEffect.__struct_fields__ == layout.RULE.names
    assert parse_run(run_file([THREADS])).rules == ()


def test_counters_have_names_and_missing_ones_are_zero():
    counters = section(Section.COUNTERS, (7).to_bytes(8, "little") * 2, 8)
    run = parse_run(run_file([counters]))
    assert (run.counters["events"], run.counters["steps"], run.counters["stalls"]) == (7, 7, 0)
    assert set(run.counters) == set(layout.COUNTERS)


def test_waits_say_who_holds_and_minus_one_for_nobody():
    waits = records(Section.WAITS, [(0, ACQUIRE, 1, 0, 77), (1, READ, layout.NOBODY, 0, 78)])
    run = parse_run(run_file([THREADS, waits]))
    assert run.waits == (Wait(0, ACQUIRE, 1, 77), Wait(1, READ, -1, 78))


def test_notes_are_gathered_by_key():
    failure = {
        "kind": "exception",
        "type": "AttributeError",
        "message": "gone",
        "thread": "0.1",
        "frames": [["/p/a.py", 29, "work"]],
        "text": "Traceback",
    }
    code = {"base": 90, "size": 4, "file": "/p/b.py", "function": "f", "line": 1, "sites": []}
    run = parse_run(
        run_file(
            [
                notes(
                    {"run": {"seed": 3}},
                    {"failure": failure},
                    {"variables": {"5": "Queue.qsize"}},
                    {"failure": {"kind": "exit"}},
                    {"codes": [code]},
                    {"from a later version": 1},
                )
            ]
        )
    )
    frame = Frame("/p/a.py", 29, "work")
    expected = Failure("exception", "AttributeError", "gone", "0.1", (frame,), "Traceback")
    assert run.failures == (expected, Failure("exit"))
    assert run.variables == {5: "Queue.qsize"}
    assert [one.base for one in run.codes] == [90]
    assert run.notes.plan == {"seed": 3}


def test_a_message_with_a_lone_surrogate_can_be_read_and_printed():
    run = parse_run(run_file([notes({"failure": {"kind": "exit", "message": "no \udc80"}})]))
    assert run.failures[0].message == "no \\udc80"
    run.failures[0].message.encode()


def test_damaged_notes_do_not_stop_the_edges_from_being_read():
    run = parse_run(run_file([THREADS, section(Section.NOTES, b'{"run": {}}\n{"failure": 3}')]))
    assert len(run.threads) == 2
    with pytest.raises(RunFileError, match="note 2 cannot be read"):
        run.failures


def test_an_unknown_section_is_skipped():
    assert len(parse_run(run_file([section(900, b"later", 5), THREADS])).threads) == 2


def test_a_file_is_named_in_its_error(tmp_path):
    path = tmp_path / "000007.run"
    with pytest.raises(RunFileError, match=r"000007\.run: cannot be read: No such file") as missing:
        read_run(path)
    assert missing.value.path == path
    path.write_bytes(run_file([THREADS])[:-1])
    with pytest.raises(RunFileError, match=r"000007\.run: .* bytes where its header says"):
        read_run(path)
    path.write_bytes(run_file([THREADS]))
    assert len(read_run(path).threads) == 2


def _threads(*rows: tuple) -> bytes:
    return run_file([records(Section.THREADS, rows)])


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not a run file"),
        (b"\x7fELF" + bytes(60), "not a run file"),
        (layout.MAGIC, "ends inside its header"),
        (run_file([], version=1), "format version 1"),
        (run_file([THREADS]) + b"\0", "header says"),
        (run_file([THREADS, THREADS]), "section 2 appears twice"),
        (run_file([section(Section.EDGES, bytes(48), 47)]), "records of 47 bytes, expected 48"),
        (run_file([section(Section.EDGES, bytes(47), 48)]), "no whole number of records"),
        (run_file([section(Section.RULES, bytes(48), 48)]), "records of 48 bytes, expected 40"),
        (run_file([records(Section.EDGES, [edge(READ, READ)])]), "edges: no such thread"),
        (run_file([records(Section.SCHEDULE, [(0, READ, 1)])]), "schedule: no such thread"),
        (run_file([THREADS, records(Section.COUNTS, [(2, 0, 1, 0)])]), "counts: no such thread"),
        (
            run_file([THREADS, records(Section.EDGES, [edge(READ, READ | 15)])]),
            "edges: no such operation",
        ),
        (
            run_file([THREADS, records(Section.WAITS, [(0, ACQUIRE, 2, 0, 1)])]),
            "waits: no such owner",
        ),
        (_threads(thread(1, "0")), "indexes have a gap or repeat"),
        (_threads(thread(0, "0"), thread(0, "0")), "indexes have a gap or repeat"),
        (_threads(thread(0, "0"), thread(1, "0.1", parent=1)), "a parent younger"),
        (_threads(thread(0, "")), "is no path"),
        (_threads(thread(0, "main")), "is no path"),
    ],
)
def test_what_cannot_be_trusted_is_refused(data, reason):
    with pytest.raises(RunFileError, match=re.escape(reason)):
        parse_run(data)


def test_a_section_that_reaches_past_the_end_is_refused():
    data = bytearray(run_file([THREADS]))
    data[40:48] = (1 << 63).to_bytes(8, "little")
    with pytest.raises(RunFileError, match="reaches past the end"):
        parse_run(bytes(data))


def test_a_section_that_the_header_does_not_count_is_refused():
    data = bytearray(run_file([THREADS]))
    data[12:16] = bytes(4)
    with pytest.raises(RunFileError, match="bytes after its last section"):
        parse_run(bytes(data))
    data[12:16] = b"\2\0\0\0"
    with pytest.raises(RunFileError, match="ends inside a section header"):
        parse_run(bytes(data))


def test_the_layout_is_that_of_the_c_header():
    header = FORMAT.read_text()
    sizes = dict(re.findall(r"sizeof\(struct uns_(\w+)_record\) == (\d+)", header))
    ours = {
        "thread": layout.THREAD,
        "edge": layout.EDGE,
        "segment": layout.SEGMENT,
        "count": layout.COUNT,
        "wait": layout.WAIT,
        "trace": layout.TRACE,
        "pattern": layout.PATTERN,
        "order": layout.ORDER,
        "rule": layout.RULE,
        "pending": layout.PENDING,
        "standstill": layout.STANDSTILL,
        "log": layout.LOG,
        "value": layout.VALUE,
        "branch": layout.BRANCH,
        "event": EVENT,  # of access traces, which are files of their own
    }
    assert {name: str(record.itemsize) for name, record in ours.items()} == sizes
    kinds = dict(re.findall(r"UNS_SECTION_(\w+) = (\d+)", header))
    assert {kind.name: str(int(kind)) for kind in Section} == kinds
    kinds_of_patterns = re.findall(r"UNS_PATTERN_(\w+)(?: = \d+)?,", header)
    assert kinds_of_patterns == [*(kind.name for kind in PatternKind), "FINE"]
    counters = re.findall(r"UNS_COUNT_(\w+)", header)
    assert [name.upper() for name in layout.COUNTERS] == counters


def entry(path: str, point: int, *rest: Any) -> list[Any]:
    return [7, point, path, "5", *rest]


def captures_of(*entries: list[Any]) -> tuple[Capture, ...]:
    return parse_run(run_file([THREADS, notes({"values": list(entries)})])).captures


def test_captures_know_the_event_they_are_of() -> None:
    found = captures_of(entry("0", 16), entry("0.1", 16), entry("0", 16), entry("0", 17))
    assert [one.key for one in found] == [("0", 16, 1), ("0.1", 16, 1), ("0", 16, 2), ("0", 17, 1)]
    assert {(one.event, one.value, one.locks, one.stack) for one in found} == {(7, "5", (), ())}


def test_a_capture_has_the_locks_the_cell_and_the_stack() -> None:
    rest = (["guard", "a lock"], "Shop.stock", [[1, 4], [2, 5]], [3, "['tea']", 9])
    (found,) = captures_of(entry("0", 16, *rest, [["shop.py", 12, "sell"]]))
    assert found.locks == (HeldLock("guard", 1, 4), HeldLock("a lock", 2, 5))
    assert (found.variable, found.object) == ("Shop.stock", 3)
    assert (found.element, found.owner) == ("['tea']", 9)
    assert found.stack == (Frame("shop.py", 12, "sell"),)


@pytest.mark.parametrize(
    "damaged", [[7], [7, 16, "0", 5], entry("0", 16, ["guard"], "x", [])], ids=repr
)
def test_damaged_captures_are_refused(damaged: list[Any]) -> None:
    with pytest.raises(RunFileError, match="values"):
        captures_of(damaged)
