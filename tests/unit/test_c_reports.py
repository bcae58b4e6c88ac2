# SPDX-License-Identifier: Apache-2.0
"""Reports of C and C++ programs name lines, blocks and locks of the program itself."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.unit.runfile_writer import notes, records, run_file, thread
from tests.unit.test_reports_build import graph

from unsnarl.campaigns.printed import last_lines, what_it_said
from unsnarl.model.report import FindingPoint, Fix, MissingPart, SourceLine
from unsnarl.model.run import Frame, Thread, Wait
from unsnarl.model.site import Site
from unsnarl.model.sources import Sources
from unsnarl.probes.native.blocks import _given
from unsnarl.reports.build import _shares_locks
from unsnarl.reports.chain import type_in
from unsnarl.reports.explain import own_line
from unsnarl.reports.facts import CapturedAccess, ExplainedEvent, FailingRun
from unsnarl.reports.finding_ids import word
from unsnarl.reports.fixes import fix_note
from unsnarl.reports.proofs import captured_names
from unsnarl.reports.remarks import _hold_apart
from unsnarl.reports.steps import CALLED, _last_name
from unsnarl.runfile import Interner, RunFile, SiteTable
from unsnarl.runfile.layout import Section
from unsnarl.runfile.reader import parse_run
from unsnarl.workflows.unfinished import unfinished_notices

HEADER = "/usr/include/c++/12/bits/atomic_base.h"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Queue(const char *text) : next(0), blocks(new Block[4]) { for (long i = 0", "blocks"),
        ("items{new Item}", "items"),
        ("struct pool *p = malloc(sizeof(struct pool))", "p"),
        ("int n = 3, *cells = calloc(n, sizeof(int))", "cells"),
        ("q->slots[i] = my_alloc(8)", "slots"),
        ("auto page = std::make_unique<Page>()", "page"),
        ("take(malloc(8))", ""),
        ("for (int i = 0; i < n; i++) use(new Block)", ""),
    ],
)
def test_a_block_is_named_by_what_it_is_given_to(text: str, name: str) -> None:
    found = _given(text.partition(";")[0])
    assert (found[1] if found else "") == name


def test_the_program_is_shown_instead_of_a_header_that_it_calls() -> None:
    site = Site(HEADER, "fetch_add", 618, 0, 618, 0, "data", "")
    caller = Frame("cache.cpp", 13, "Cache<…>::get")
    assert own_line(site, (caller,)) == caller
    assert own_line(site, ()).file == HEADER
    mine = Site("cache.cpp", "get", 5, 0, 5, 0, "data", "")
    assert own_line(mine, (caller,)).line == 5


def taken(line: int, section: int, thread: str = "0.1") -> FindingPoint:
    return FindingPoint(
        "q.cpp", line, "take", thread, 1, "read", "q.blocks", "body", 1.0,
        locks=("q.mutex",), sections=(section,),
    )  # fmt: skip


def test_a_fix_does_not_say_hold_where_it_is_held() -> None:
    fix = Fix(
        "region",
        SourceLine("q.cpp", 28, "take", ""),
        SourceLine("q.cpp", 35, "take", ""),
        lock="q.mutex",
        lock_site="q.cpp:28",
        runs=200,
    )
    assert "keep q.mutex from one pass of q.cpp:28 to :35 to the next" in fix_note(
        fix, [taken(29, 1), taken(29, 4)]
    )
    # Two sections of one thread, at different lines, are to become one.
    assert "hold q.mutex from q.cpp:28 to :35" in fix_note(fix, [taken(29, 1), taken(33, 4)])
    assert "hold q.mutex" in fix_note(fix, [taken(29, 1), taken(29, 1), taken(29, 2, "0.2")])


def test_the_last_words_of_a_run(tmp_path: Path) -> None:
    output = tmp_path / "1.out"
    assert not last_lines(output)
    output.write_text("one\n\ntwo\nthree\nfour\na.out: a.c:3: main: Assertion `x' failed.\n")
    assert last_lines(output) == "two\nthree\nfour"
    output.write_bytes(b"\xff" * 9000)
    assert len(last_lines(output)) == 200


def test_a_c_exception_is_told_by_its_type_and_what_it_says(tmp_path: Path) -> None:
    output = tmp_path / "1.out"
    assert not what_it_said(output)
    lines = ("asked", "terminate called after throwing an instance of 'std::logic_error'")
    output.write_text("\n".join((*lines, "  what():  loaded twice: home", "")))
    assert what_it_said(output) == "loaded twice: home"
    assert last_lines(output) == "asked"
    told = FailingRun.of(struck("_ZTSSt11logic_error"), interner()).failure
    assert told is not None
    assert told.type == "std::logic_error"


def interner() -> Interner:
    return Interner(SiteTable((), "/", watermark=100))


def struck(type_: str) -> RunFile:
    failure = {"kind": "exception", "type": type_, "thread": "0"}
    sections = [records(Section.THREADS, [thread(0, "0")]), notes({"failure": failure})]
    return parse_run(run_file(sections))


def test_a_lock_in_an_array_is_named_with_its_place() -> None:
    """Three devices, each with a lock: `devices #2` says nothing."""
    threads = tuple(Thread(at, 0, f"0.{at}", "", 1, True, False, False) for at in range(2))
    waits = tuple(Wait(at, 16, 1 - at, 100 + at) for at in range(2))
    run = FailingRun("1", graph(), threads, None, waits)
    events = [
        ExplainedEvent(f"0.{at}", 16, 100 + at, CapturedAccess(variable="devices", element=name),
                       pending=True)
        for at, name in enumerate(("[1].lock", "[0].lock"))
    ]  # fmt: skip
    assert captured_names(events, run) == {100: "devices[1].lock", 101: "devices[0].lock"}


@pytest.mark.parametrize("mutex", ["std::mutex", "std::shared_mutex", "pthread_rwlock_t"])
def test_of_locks_that_several_share_nothing_is_said(tmp_path: Path, mutex: str) -> None:
    """Who holds them is not seen: "no lock is held" would be wrong."""
    declared = "pthread_rwlock_init(&lock, 0);" if mutex.startswith("pthread") else ""
    (tmp_path / "q.cpp").write_text(f"static {mutex} lock;\n{declared}\n")
    assert _shares_locks([taken(1, 1)], Sources(tmp_path)) is (mutex != "std::mutex")


def test_the_type_of_a_c_exception_is_not_cut_at_its_namespace() -> None:
    assert type_in("std::logic_error: loaded twice: home") == "std::logic_error"
    assert type_in("KeyError: 'tea'\nmore") == "KeyError"
    assert type_in("std::bad_alloc") == "std::bad_alloc"


def test_who_holds_a_lock_of_each_of_two_objects_does_not_hold_none() -> None:
    """Both accounts are looked at on one line, each under its own lock."""
    look = replace(taken(38, 3, "0.2"), locks=("account_t.lock",))
    points = (look, replace(look, locks=("account_t.lock #2",), sections=(4,)))
    assert _hold_apart(points)
    assert not _hold_apart(points[:1])
    assert not _hold_apart([replace(one, locks=()) for one in points])


def test_a_block_that_is_named_by_its_line_is_not_cut_at_the_dot() -> None:
    assert _last_name("block from settings.cpp:48") == "block from settings.cpp:48"
    assert _last_name("settings.ready_") == "ready_"
    assert word(["block from settings.cpp:48"], "order") != "cpp-48"


def test_the_report_says_why_a_program_was_not_patched() -> None:
    part = MissingPart("patch", "a patch of finding 1", "unsupported", "shop does not say how")
    (notice,) = unfinished_notices([part])
    assert notice.slug == "not-patched"
    assert notice.message == "a patch of finding 1: shop does not say how"


def test_a_signal_in_c_is_called_by_what_gives_it() -> None:
    """Not "release a lock of a library"."""
    assert CALLED.findall("pthread_cond_signal(&bell);") == ["pthread_cond_signal"]
    assert CALLED.findall("wake_.notify_all();") == ["notify_all"]
    assert CALLED.findall("notice(&bell);") == []
