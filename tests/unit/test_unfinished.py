# SPDX-License-Identifier: Apache-2.0
"""What was still to come when a run ended, on run files made by hand."""

from tests.unit.runfile_writer import notes, records, run_file, thread

from unsnarl.campaigns.unfinished import Unfinished
from unsnarl.model.event import Op
from unsnarl.model.pattern import PatternKind, kinds_of
from unsnarl.placement.timeline import Timeline
from unsnarl.reports.facts import FailingRun
from unsnarl.runfile import Interner, SiteTable
from unsnarl.runfile.codes import Code, SiteEntry
from unsnarl.runfile.layout import Section
from unsnarl.runfile.reader import parse_run

A, B, L = 0x10, 0x20, 0x30  # cells: two variables and a lock
SET_A, SET_B, READ_A, READ_B, LOCK = 1, 2, 3, 4, 5  # sites
SETTER, CHECKER = 1, 2


def point(site, op):
    return site << 4 | op


def run(*, pending=(), latest=(), pairs=(), counts=(), waits=(), failure=None, orders=()):
    """A run of two threads; `latest`: thread, operation, site, cell, in order of time."""
    sections = [
        records(Section.THREADS, [thread(0, "0"), thread(1, "0.1"), thread(2, "0.2")]),
        records(Section.COUNTS, [(t, site, count, site) for t, site, count in counts]),
        records(Section.PATTERNS, [(*row[:2], 0, *row[2:4], 1, 2, row[4], 1, 1) for row in pairs]),
    ]
    sections.append(records(Section.ORDERS, list(orders)))
    sections.append(records(Section.WAITS, [(*row, 0, 0, 0) for row in waits]))
    if failure:
        sections.append(notes({"failure": {"kind": failure, "type": "assert"}}))
    if pending:
        sections.append(records(Section.PENDING, [(t, point(s, op), c) for t, op, s, c in pending]))
        rows = [(at, c, point(s, op), t) for at, (t, op, s, c) in enumerate(latest, start=1)]
        sections.append(records(Section.LATEST, rows))
    return parse_run(run_file(sections))


def completed(failing, passing=(), table=None):
    interner = Interner(table or SiteTable((), "/", watermark=100))
    both = [(one, interner.evidence(one)) for one in (failing, *passing)]
    unfinished = Unfinished(list(passing), both, interner)
    return unfinished.completed(*both[0])


def patterns(evidence):
    """Kinds and threads of the patterns."""
    rows = evidence.patterns
    return [
        (PatternKind(int(kind)).name, int(row["first_thread"]), int(row["other_thread"]))
        for kind, row in zip(kinds_of(rows), rows, strict=True)
    ]


def test_what_a_thread_was_about_to_write_comes_after_what_others_read():
    failing = run(pending=[(SETTER, Op.WRITE, SET_B, B)], latest=[(CHECKER, Op.READ, READ_B, B)])
    evidence = completed(failing)
    assert patterns(evidence) == [("RW", CHECKER, SETTER)]
    assert [(one.path, one.raw, one.cell) for one in evidence.due] == [
        ("0.1", point(SET_B, Op.WRITE), B)
    ]
    # The conflict is among those that cycles are made of.
    assert len(evidence.pairs) == 1
    assert evidence.pairs["other_time"][0] > evidence.pairs["first_time"][0]


def test_it_may_close_a_triple():
    failing = run(
        pending=[(SETTER, Op.WRITE, SET_A, A)],
        latest=[(SETTER, Op.READ, READ_A, A), (CHECKER, Op.WRITE, SET_A, A)],
    )
    evidence = completed(failing)
    assert [kind for kind, *_ in patterns(evidence)] == ["WW", "RWW"]


def test_two_reads_are_no_conflict():
    failing = run(pending=[(SETTER, Op.READ, READ_B, B)], latest=[(CHECKER, Op.READ, READ_B, B)])
    assert not len(completed(failing).patterns)


def test_what_a_thread_does_from_there_in_passing_runs_is_due_too():
    """It waits for a lock; behind that it writes what the other one has read already."""
    failing = run(pending=[(SETTER, Op.ACQUIRE, LOCK, L)], latest=[(CHECKER, Op.READ, READ_B, B)])
    read, write = point(READ_B, Op.READ), point(SET_B, Op.WRITE)
    passing = run(pairs=[(write, read, SETTER, CHECKER, B)], counts=[(SETTER, SET_B, 1)])
    evidence = completed(failing, [passing])
    assert patterns(evidence) == [("RW", CHECKER, SETTER)]
    # The lock comes first: there the thread can be held.
    assert [one.raw for one in evidence.due] == [point(LOCK, Op.ACQUIRE), write]


def test_what_is_due_comes_in_the_order_of_the_code_from_where_the_thread_stands():
    again = READ_A  # a line of the loop above the lock
    looks = [(CHECKER, Op.READ, READ_B, A), (CHECKER, Op.READ, READ_B, B)]
    failing = run(pending=[(SETTER, Op.ACQUIRE, 6, L)], latest=looks)
    read = point(READ_B, Op.READ)
    passing = run(
        pairs=[
            (point(again, Op.WRITE), read, SETTER, CHECKER, A),
            (point(7, Op.WRITE), read, SETTER, CHECKER, B),
        ],
        counts=[(SETTER, again, 1), (SETTER, 7, 1)],
    )
    sites = tuple(SiteEntry(at, "write", line=at) for at in range(9))
    table = SiteTable((Code(0, 9, "log.c", "work", sites=sites),), "/src", watermark=100)
    due = dict.fromkeys(one.raw >> 4 for one in completed(failing, [passing], table).due)
    assert list(due) == [6, 7, again]


def test_that_others_waited_when_a_failure_ended_the_run_makes_it_no_deadlock():
    joins, takes = point(LOCK, Op.WAIT), point(LOCK, Op.ACQUIRE)
    read, write = point(READ_B, Op.READ), point(SET_B, Op.WRITE)
    failing = {
        failure: run(
            pending=[(SETTER, Op.ACQUIRE, LOCK, L)],
            latest=[(CHECKER, Op.READ, READ_B, B)],
            waits=[(0, joins, SETTER), (SETTER, joins, CHECKER)],
            failure=failure,
        )
        for failure in ("assertion", "deadlock")
    }
    passing = run(pairs=[(write, read, SETTER, CHECKER, B)], counts=[(SETTER, SET_B, 1)])
    due = {name: completed(one, [passing]).due for name, one in failing.items()}
    assert [one.raw for one in due["assertion"]] == [takes, write]
    assert [one.raw for one in due["deadlock"]] == [write]
    pending = {name: len(Timeline(one).pending) for name, one in failing.items()}
    assert pending == {"assertion": 0, "deadlock": 2}
    # Nor does a report say why they wait, or "each waits for a lock that another one holds".
    interner = Interner(SiteTable((), "/", watermark=100))
    waits = {name: len(FailingRun.of(one, interner).waits) for name, one in failing.items()}
    assert waits == {"assertion": 0, "deadlock": 2}


def test_what_a_thread_has_done_already_is_not_due():
    failing = run(
        pending=[(SETTER, Op.ACQUIRE, LOCK, L)],
        latest=[(CHECKER, Op.READ, READ_B, B)],
        counts=[(SETTER, SET_B, 1)],
    )
    read, write = point(READ_B, Op.READ), point(SET_B, Op.WRITE)
    passing = run(pairs=[(write, read, SETTER, CHECKER, B)], counts=[(SETTER, SET_B, 1)])
    evidence = completed(failing, [passing])
    assert not evidence.due


def test_a_run_whose_threads_had_ended_stays_as_it_is():
    evidence = completed(run())
    assert not evidence.due
    assert not len(evidence.patterns)


def test_what_comes_after_a_join_anyway_is_not_too_late():
    """Main prints what the threads have left: a failure that ends them is not due to that."""
    failing = run(
        pending=[(0, Op.READ, READ_B, B)], latest=[(SETTER, Op.WRITE, SET_B, B)], failure="signal"
    )
    pair = (point(SET_B, Op.WRITE), point(READ_B, Op.READ), SETTER, 0, B)
    joined = run(pairs=[pair], orders=[(0, SETTER, 2, 1)])
    assert not len(completed(failing, [joined]).due)
    # Where it may come at any time, it is.
    assert len(completed(failing, [run(pairs=[pair])]).due) == 1


def test_a_line_that_serves_many_objects_is_due_only_where_runs_have_it_meet_the_other_line():
    """The setter goes on to write B, which the checker reads on the same line as A."""
    read, write = point(READ_A, Op.READ), point(SET_B, Op.WRITE)
    passing = run(pairs=[(write, read, SETTER, CHECKER, B)], counts=[(SETTER, SET_B, 1)])
    # A third thread wrote A last, on a line that no run has meet the one that is due.
    failing = run(
        pending=[(SETTER, Op.ACQUIRE, LOCK, L)],
        latest=[(CHECKER, Op.READ, READ_A, A), (0, Op.WRITE, SET_A, A)],
    )
    assert not len(completed(failing, [passing]).due)
    # What a thread was about to do is known, with its cell.
    latest = [(CHECKER, Op.READ, READ_A, A), (0, Op.WRITE, SET_A, A)]
    sure = run(pending=[(SETTER, Op.WRITE, SET_B, A)], latest=latest)
    assert patterns(completed(sure, [passing])) == [("WW", 0, SETTER)]


def test_what_starts_and_ends_threads_is_not_due():
    """Code of a system's header that nobody in the program has called."""
    failing = run(pending=[(SETTER, Op.WRITE, SET_B, B)], latest=[(CHECKER, Op.READ, READ_B, B)])
    file = "/usr/include/c++/12/bits/std_thread.h"
    sites = tuple(SiteEntry(at, "write", line=200) for at in range(9))
    header = SiteTable((Code(0, 9, file, "~_State_impl", sites=sites),), "/src", watermark=100)
    assert len(completed(failing).due) == 1
    assert not len(completed(failing, table=header).due)
