# SPDX-License-Identifier: Apache-2.0
"""What real threads leave behind for the analyses: patterns, orders, counts of remote accesses."""
# ruff: noqa: F811  the fixture is imported

from __future__ import annotations

import pytest
from tests.integration.test_server import start  # noqa: F401  the fixture

from unsnarl.model.ordered import open_patterns
from unsnarl.model.pattern import PatternKind, kinds_of
from unsnarl.runfile import Interner, SiteTable, read_run

pytestmark = pytest.mark.core

STOCK = """
    import threading

    class Stock:
        def __init__(self):
            self.count = 1
            self.sold = 0

    def buy(stock):
        if stock.count > 0:
            int()
            stock.count = stock.count - 1

    stock = Stock()
    threads = [threading.Thread(target=buy, args=(stock,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(stock.count)
"""
CHECK, ACT, PRINT = 10, 12, 20


def evidence(client, number=1, **changes):
    """The evidence of one run, and the line and operation of every point."""
    client.run(number, **changes)
    run = read_run(client.path(number, "run"))
    interner = Interner(SiteTable.load(client.folder / "codes.json", client.folder))
    found = interner.evidence(run)
    points = [interner.point(index) for index in range(len(interner))]
    return found, [(point.site.line, point.op.word) for point in points]


def patterns(found, places, kind):
    rows = found.patterns[kinds_of(found.patterns) == kind]
    names = ("first", "other", "last")
    return {tuple(places[int(row[f"{name}_point"])] for name in names) for row in rows}


def test_a_check_that_is_overtaken_is_a_triple(start):
    client = start("script", "main.py", main=STOCK)
    wanted = ((CHECK, "read"), (ACT, "write"), (ACT, "write"))
    for number in range(1, 40):
        found, places = evidence(client, number, seed=number)
        if client.output(number) == "-1\n":
            assert wanted in patterns(found, places, PatternKind.RWW)
            return
    pytest.fail("no schedule broke the program")


def test_start_and_join_order_what_they_order(start):
    client = start("script", "main.py", main=STOCK)
    found, places = evidence(client)
    rows = [tuple(row) for row in found.orders.tolist()]
    assert sorted((thread, other) for thread, other, *_ in rows) == [(0, 1), (0, 2), (1, 0), (2, 0)]
    left = found.patterns[open_patterns(found.patterns, found.orders)]
    points = {places[int(row[f"{name}_point"])] for row in left for name in ("first", "other")}
    # Neither the constructor, before the threads, nor the print, after them, is open.
    assert points and {line for line, _ in points} <= {CHECK, ACT}
    assert any(places[int(row["other_point"])][0] == PRINT for row in found.patterns)


def test_remote_accesses_are_counted_by_site(start):
    found, _ = evidence(start("script", "main.py", main=STOCK))
    assert (found.counts["remote"] <= found.counts["executed"]).all()
    assert found.counts["remote"].sum() > 0


def test_no_windows_no_patterns(start):
    found, _ = evidence(start("script", "main.py", main=STOCK), window_size=0)
    assert not len(found.patterns) and len(found.graph)


def test_whole_objects_communicate_where_asked_for(start):
    """Nobody reads `sold`, but the object that has it."""
    program = STOCK.replace("stock.count = stock.count - 1", "stock.sold = 7")
    client = start("script", "main.py", main=program)

    def lines_in_conflict(number, **changes):
        found, places = evidence(client, number, **changes)
        pairs = found.patterns[kinds_of(found.patterns) < PatternKind.RWR]
        ends = [
            [places[int(row[f"{end}_point"])][0] for end in ("first", "other")] for row in pairs
        ]
        return {frozenset(pair) for pair in ends}

    both = frozenset((CHECK, ACT))
    assert both not in lines_in_conflict(1)
    assert both in lines_in_conflict(2, granularity="object")


POOL = """
    import threading
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(1)

    def send():
        try:
            pool.submit(int)
            print("sent")
        except RuntimeError:
            print("refused")

    sender = threading.Thread(target=send)
    sender.start()
    pool.shutdown()
    sender.join()
"""


def test_a_library_call_counts_from_when_it_has_its_own_lock(start):
    """Wherever the switch came, a submit that is refused comes after the shutdown."""
    client = start("script", "main.py", main=POOL)
    refused = 0
    for number in range(1, 20):
        found, places = evidence(client, number, seed=number)
        if client.output(number) != "refused\n":
            continue
        refused += 1
        rows = found.patterns[kinds_of(found.patterns) == PatternKind.WW]
        ends = {
            tuple(places[int(row[f"{end}_point"])] for end in ("first", "other")) for row in rows
        }
        ends |= {triple[1:] for triple in patterns(found, places, PatternKind.WWW)}
        assert ((16, "call"), (9, "call")) in ends
    assert refused


TURNS = """
    import threading

    class Box:
        value = 0

    def add(box, lock):
        for _ in range(5):
            with lock:
                box.value = box.value + 1

    box, lock = Box(), threading.Lock()
    threads = [threading.Thread(target=add, args=(box, lock)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def occurrences(rows):
    """The times of every pair of points, by their threads."""
    found = {}
    for row in rows:
        if kinds_of(row) < PatternKind.RWR:
            ends = ("first", "other")
            key = tuple(int(row[f"{end}_{what}"]) for end in ends for what in ("point", "thread"))
            found.setdefault(key, []).append(tuple(int(row[f"{end}_time"]) for end in ends))
    return found


def test_a_gated_run_keeps_every_pair_and_not_only_its_latest(start):
    client = start("script", "main.py", main=TURNS)
    repeated = 0
    for number in range(1, 8):
        found, _ = evidence(client, number, seed=number)
        latest, every = occurrences(found.patterns), occurrences(found.pairs)
        assert latest.keys() == every.keys()
        assert all(max(every[key]) == times[0] for key, times in latest.items())
        assert all(len(set(times)) == len(times) for times in every.values())
        repeated += sum(len(times) > 1 for times in every.values())
    assert repeated


TEARDOWN = """
    import threading
    import pytest

    class Box:
        def __init__(self):
            self.lock = threading.Lock()
            self.open = True
            self.ready = False

    def work(box, asked):
        asked.wait()
        with box.lock:
            box.ready = True

    @pytest.fixture
    def box():
        made = Box()
        yield made
        with made.lock:
            made.open = False

    def test_ready(box):
        asked = threading.Event()
        thread = threading.Thread(target=work, args=(box, asked), daemon=True)
        thread.start()
        try:
            assert box.ready
        finally:
            asked.set()
            thread.join()

    def test_later(box):
        thread = threading.Thread(target=setattr, args=(box, "open", 1))
        thread.start()
        thread.join()
        assert box.open
"""
WORKER, CLOSED, ASSERTED, LATER = 14, 21, 28, 37


def test_what_a_thread_does_after_it_failed_is_no_evidence(start):
    """The late write of the other thread is: it is why the first one failed."""
    client = start("pytest", "-q", "test_box.py", test_box=TEARDOWN)
    client.run(1, trace=True)
    run = read_run(client.path(1, "run"))
    table = SiteTable.load(client.folder / "codes.json", client.folder)
    lines = [table.site(int(point) >> 4).line for point in run.trace["point"]]
    assert ASSERTED in lines and WORKER in lines[lines.index(ASSERTED) :]
    assert not {CLOSED - 1, CLOSED, LATER} & {*lines[lines.index(ASSERTED) :]}
    assert run.failures[0].frames[-1].line == ASSERTED


def test_a_run_that_passes_is_evidence_to_its_end(start):
    passing = TEARDOWN.replace("assert box.ready", "assert box.open")
    client = start("pytest", "-q", "test_box.py", test_box=passing)
    client.run(1, trace=True)
    run = read_run(client.path(1, "run"))
    table = SiteTable.load(client.folder / "codes.json", client.folder)
    lines = [table.site(int(point) >> 4).line for point in run.trace["point"]]
    assert {CLOSED, LATER} <= {*lines}
