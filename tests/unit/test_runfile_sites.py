# SPDX-License-Identifier: Apache-2.0
"""Resolving site ids and interning points."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.unit.runfile_writer import edge, notes, records, run_file, thread

from unsnarl.model.event import Op
from unsnarl.model.site import UNKNOWN_SITE, Site
from unsnarl.runfile import Interner, RunFileError, SiteTable
from unsnarl.runfile.codes import Code, SiteEntry
from unsnarl.runfile.layout import Section
from unsnarl.runfile.reader import RunFile, parse_run

SIZE = Code(
    base=0,
    size=20,
    file="/project/pkg/queue.py",
    function="Queue.size",
    line=12,
    sites=(
        SiteEntry(4, "attr_read", "qsize", 14, 14, 8, 18),
        SiteEntry(9, "attr_read", "qsize", 16, 16, 8, 18),
        # A finally block, compiled twice: one place in the source.
        SiteEntry(15, "attr_read", "qsize", 16, 16, 8, 18),
    ),
)
OUTSIDE = Code(30, 10, "/usr/lib/other.py", "f", 1, (SiteEntry(0, "call", None, None),))
TABLE = SiteTable([OUTSIDE, SIZE], "/project", watermark=100)
LATE = {
    "base": 100,
    "size": 5,
    "file": "/project/late.py",
    "function": "g",
    "line": 3,
    "sites": [[1, "global_read", "x", 4, 4, 0, 1]],
}


def make_run(*edges: tuple, lines: tuple = ()) -> RunFile:
    threads = records(Section.THREADS, [thread(0, "0"), thread(1, "0.1")])
    return parse_run(run_file([threads, records(Section.EDGES, edges), notes(*lines)]))


def point(site: int, op: Op = Op.READ) -> int:
    return site << 4 | op


def test_a_site_is_found_by_its_offset_and_its_file_is_relative_to_the_root():
    site = TABLE.site(4)
    assert (site.file, site.function, site.line) == ("pkg/queue.py", "Queue.size", 14)
    assert (site.column, site.end_column, site.kind, site.name) == (8, 18, "attr_read", "qsize")


def test_positions_that_the_compiler_left_out_fall_back_to_the_code():
    site = TABLE.site(30)
    assert (site.file, site.line, site.end_line, site.column) == ("/usr/lib/other.py", 1, 1, 0)
    assert site.name == ""


@pytest.mark.parametrize("site_id", [20, 29, 40, 99, 1 << 27])
def test_ids_between_and_behind_codes_are_unknown(site_id):
    assert TABLE.site(site_id) == UNKNOWN_SITE
    assert SiteTable([], "/project").site(site_id) == UNKNOWN_SITE


def test_an_unlisted_instruction_gets_the_line_before_it():
    assert [TABLE.site(offset).line for offset in (0, 7, 12)] == [12, 14, 16]
    assert TABLE.site(7).kind == "unlisted"


def test_a_signal_is_about_the_access_before_it():
    sites = (
        SiteEntry(2, "function", None, 5),
        SiteEntry(4, "read", None, 6, function="inlined"),
        SiteEntry(6, "block", None, 7),
    )
    table = SiteTable([Code(40, 10, "/project/a.c", "f", 5, sites)], "/project", watermark=100)
    assert table.struck(44).line == 6  # told by its own call
    assert (table.struck(45).line, table.struck(45).function) == (6, "inlined")
    assert table.struck(47).line == 6  # a block is no access
    assert table.struck(43) is UNKNOWN_SITE  # nothing was touched before it
    assert table.struck(60) is UNKNOWN_SITE


def test_load_reads_codes_json(tmp_path):
    path = tmp_path / "codes.json"
    path.write_text(json.dumps({"version": 1, "watermark": 200, "modules": 1, "codes": [LATE]}))
    table = SiteTable.load(path, "/project")
    assert table.watermark == 200
    assert table.site(101).line == 4


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "no list of codes"),
        ('{"version": 1}', "no list of codes"),
        ('{"version": 2, "watermark": 0, "codes": []}', "version 2"),
    ],
)
def test_load_refuses_what_it_does_not_know(tmp_path, text, reason):
    path = tmp_path / "codes.json"
    path.write_text(text)
    with pytest.raises(RunFileError, match=reason):
        SiteTable.load(path, "/project")


def test_load_names_a_missing_file(tmp_path):
    with pytest.raises(RunFileError, match=r"gone\.json: cannot be read"):
        SiteTable.load(tmp_path / "gone.json", "/project")


def test_the_same_point_has_the_same_index_in_every_run():
    interner = Interner(TABLE)
    first = interner.graph(make_run(edge(point(4), point(9)))).edges[0]
    second = interner.graph(make_run(edge(point(9), point(4)))).edges[0]
    assert first["source_point"] == second["sink_point"]
    assert first["sink_point"] == second["source_point"]
    assert interner.point(int(first["source_point"])).site.line == 14
    assert len(interner) == 2


def test_the_operation_is_part_of_a_point():
    interner = Interner(TABLE)
    row = interner.graph(make_run(edge(point(4, Op.ACQUIRE), point(4)))).edges[0]
    assert row["source_point"] != row["sink_point"]
    assert interner.point(int(row["source_point"])).op is Op.ACQUIRE
    assert interner.sync_mask()[[row["source_point"], row["sink_point"]]].tolist() == [True, False]


def test_codes_loaded_late_are_resolved_by_the_run_that_loaded_them():
    other = {**LATE, "file": "/project/other.py"}
    interner = Interner(TABLE)
    graphs = [
        interner.graph(make_run(edge(point(101), point(4)), lines=({"codes": [code]},)))
        for code in (LATE, other, LATE)
    ]
    sources = [int(graph.edges["source_point"][0]) for graph in graphs]
    files = [interner.point(source).site.file for source in sources]
    assert files == ["late.py", "other.py", "late.py"]
    assert sources[0] == sources[2]
    assert interner.raw_points(sources[0]) == ()


def test_late_ids_that_runs_have_agreed_on_are_points_like_others():
    table = SiteTable([OUTSIDE, SIZE], "/project", watermark=100)
    table.shared = 200
    interner = Interner(table)
    (first, second) = (
        interner.graph(make_run(edge(point(101), point(4)), lines=({"codes": codes},)))
        for codes in ([LATE], [{**LATE, "file": "/project/forged.py"}])
    )
    sources = [int(graph.edges["source_point"][0]) for graph in (first, second)]
    assert sources[0] == sources[1]  # whoever comes first says what it is
    assert interner.raw_points(sources[0]) == (point(101),)
    assert interner.range_of(point(101)) == (LATE["base"], LATE["base"] + LATE["size"])


def test_a_run_cannot_redefine_codes_below_the_watermark():
    forged = {**LATE, "base": 3}
    interner = Interner(TABLE)
    row = interner.graph(make_run(edge(point(4), point(4)), lines=({"codes": [forged]},))).edges[0]
    assert interner.point(int(row["source_point"])).site.file == "pkg/queue.py"


def test_variables_are_learnt_from_whichever_run_knows_them():
    interner = Interner(TABLE)
    run = make_run(edge(point(4), point(9)))
    index = int(interner.graph(run).edges["source_point"][0])
    assert interner.point(index).site.variable == ""
    interner.graph(make_run(edge(point(4), point(9)), lines=({"variables": {"4": "Queue.qsize"}},)))
    assert interner.point(index).site.variable == "Queue.qsize"


def test_edges_that_become_one_by_interning_are_merged_latest_first():
    interner = Interner(TABLE)
    graph = interner.graph(
        make_run(
            edge(point(4), point(9), source_time=7, sink_time=8, count=2, cell=1),
            edge(point(4), point(15), source_time=1, sink_time=2, count=3, cell=2),
            edge(point(4), point(15), sink_context=5, source_time=3, sink_time=4),
        )
    )
    merged = {row["sink_context"]: row for row in graph.edges}
    assert len(graph) == 2
    assert (merged[0]["source_time"], merged[0]["sink_time"], merged[0]["cell"]) == (7, 8, 1)
    assert (merged[0]["count"], merged[5]["count"]) == (5, 1)
    sink = int(merged[0]["sink_point"])
    assert interner.raw_points(sink) == (point(9), point(15))


def test_site_order_does_not_depend_on_which_run_came_first():
    runs = [make_run(edge(point(9), point(30))), make_run(edge(point(4), point(4, Op.WRITE)))]
    orders = []
    for order in (runs, runs[::-1]):
        interner = Interner(TABLE)
        for run in order:
            interner.graph(run)
        by_place = np.argsort(interner.site_order())
        orders.append([interner.point(int(index)) for index in by_place])
    assert orders[0] == orders[1]
    assert [(one.site.file, one.site.line, one.op) for one in orders[0]] == [
        ("/usr/lib/other.py", 1, Op.READ),
        ("pkg/queue.py", 14, Op.READ),
        ("pkg/queue.py", 14, Op.WRITE),
        ("pkg/queue.py", 16, Op.READ),
    ]


def test_a_run_without_edges_has_an_empty_graph():
    assert len(Interner(TABLE).graph(make_run())) == 0


@pytest.mark.parametrize(
    ("function", "around"),
    [
        ("Table.find", "Table.find"),
        ("Table.find.<locals>.<setcomp>", "Table.find"),
        ("Table.find.<locals>.<listcomp>.<genexpr>", "Table.find"),
        ("find.<locals>.inner", "find.<locals>.inner"),
        ("find.<locals>.<lambda>", "find.<locals>.<lambda>"),
        ("<genexpr>", "<module>"),
        ("<module>", "<module>"),
    ],
)
def test_a_comprehension_is_part_of_the_function_around_it(function, around):
    assert Site("a.py", function, 1, 1, 0, 0, "iter", "").enclosing == around


def test_two_variables_on_one_line_are_two_lines_of_an_answer():
    """`valid = 0; value = 0;`, and a third access whose variable is not known."""
    sites = tuple(
        SiteEntry(at, "write", None, 5, 5, column) for at, column in enumerate((1, 12, 20))
    )
    table = SiteTable([Code(40, 10, "/project/a.c", "clear", 5, sites)], "/project", watermark=100)
    interner = Interner(table)
    run = make_run(lines=({"variables": {"40": "valid", "41": "value"}},))
    raw = [point(site, Op.WRITE) for site in (40, 41, 42)]
    interner.indexes(np.array(raw, dtype=np.uint32), run)
    assert interner.point_table().line.tolist() == [0, 1, 0]


def counted_run(*sites: int) -> RunFile:
    threads = records(Section.THREADS, [thread(0, "0")])
    counts = records(Section.COUNTS, [(0, site, 3, site, 0, 0) for site in sites])
    return parse_run(run_file([threads, counts]))


def test_a_site_that_is_known_only_later_is_not_taken_for_an_unknown_one():
    table = SiteTable([SIZE], "/project", watermark=100)
    table.shared = 200
    interner = Interner(table)
    before = interner.evidence(counted_run(4, 101)).counts["site"].tolist()
    table.learn([Code(100, 5, "/project/late.py", "g", 3, (SiteEntry(1, "global_read", "x", 4),))])
    after = interner.evidence(counted_run(4, 101)).counts["site"].tolist()
    assert before[0] == after[0]
    assert before[1] != after[1]


@pytest.mark.parametrize(
    ("function", "variable", "op", "initial"),
    [
        ("Order.__init__", "Order.price", Op.WRITE, True),
        ("shop.<locals>.Order.__init__", "Order.price", Op.WRITE, True),
        ("__create_fn__.<locals>.__init__", "Order.price", Op.WRITE, True),
        ("Order.__init__", "Shop.latest", Op.WRITE, False),  # others have that already
        ("Order.__init__", "Order.price", Op.READ, False),
        ("Order.change", "Order.price", Op.WRITE, False),
    ],
)
def test_what_a_new_object_is_given_is_known(function, variable, op, initial):
    sites = (SiteEntry(0, "attr_write", "price", 5, 5, 1),)
    table = SiteTable([Code(40, 10, "/project/a.py", function, 5, sites)], "/project", 100)
    interner = Interner(table)
    run = make_run(lines=({"variables": {"40": variable}},))
    interner.indexes(np.array([point(40, op)], dtype=np.uint32), run)
    assert interner.point_table().initial.tolist() == [initial]
