# SPDX-License-Identifier: Apache-2.0
"""From ranked graphs to a report."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unsnarl.analyses.recon.answers import answers
from unsnarl.analyses.stuck import Stuck, stuck_answer
from unsnarl.model.event import Op
from unsnarl.model.evidence import Comparison, Evidence, PointTable
from unsnarl.model.graph import EDGE, Graph
from unsnarl.model.report import FindingPoint, Instrumented, Notice, RunCounts
from unsnarl.model.run import Failure, Frame, Thread, Wait, in_cycle
from unsnarl.model.site import UNKNOWN_SITE, Point, Site
from unsnarl.model.sources import Sources
from unsnarl.reports.build import _message, build_report
from unsnarl.reports.explain import with_failing_lines
from unsnarl.reports.facts import (
    CampaignFacts,
    CapturedAccess,
    FailingRun,
    SignatureFacts,
)
from unsnarl.reports.steps import explanation

SOURCE = """\
class Queue:
    def size(self):
        return self.qsize
    def take(self):
        if self.qsize == 0:
            return None
        self.qsize -= 1
def work(queue):
    queue.take().get_d()
"""
SIZE, TEST, TAKE = 0, 1, 2


class Table:
    """Points by index."""

    def __init__(self, *points):
        self._points = points

    def point(self, index):
        return self._points[index]


def at(line, op, variable="", function="Queue.take"):
    return Point(Site("spider.py", function, line, line, 0, 0, "attr_read", "qsize", variable), op)


TABLE = Table(
    at(3, Op.READ, "Queue.qsize", "Queue.size"),
    at(5, Op.READ, ""),
    at(7, Op.WRITE, "Queue.qsize"),
)
THREADS = tuple(
    Thread(index, 0, path, name, 9, True, False, True)
    for index, (path, name) in enumerate([("0", "MainThread"), ("0.1", "a"), ("0.2", "b")])
)


def graph(*edges):
    """Each edge: (source point, thread, time), (sink point, thread, time)."""
    rows = np.zeros(len(edges), dtype=EDGE)
    for row, (source, sink) in zip(rows, edges, strict=True):
        for end, (point, thread, time) in (("source", source), ("sink", sink)):
            row[f"{end}_point"], row[f"{end}_thread"], row[f"{end}_time"] = point, thread, time
        row["cell"], row["count"] = 77, 1
    return Graph(rows)


def failing_run(captured=None, failure=None):
    edges = graph(
        ((SIZE, 1, 10), (TAKE, 2, 20)),
        ((TAKE, 2, 20), (TEST, 1, 30)),
    )
    return FailingRun("run-0007", edges, THREADS, failure, (), captured)


def told(failing, passing=()):
    """The answers of Recon, one line per site."""
    points = np.arange(3)
    places = PointTable(np.zeros(3, bool), points, points, points, points.astype(np.uint32))
    runs = [tuple(map(Evidence, graphs)) for graphs in (failing, passing)]
    return answers(Comparison(*runs, places))


def seen(findings, values):
    """What was captured, by finding and line; `values` has it by point."""
    return {
        (place, at): values[line.point]
        for place, finding in enumerate(findings)
        for at, line in enumerate(finding.lines)
        if line.point in values
    }


def passing_graph():
    return graph(((TAKE, 1, 10), (TEST, 2, 20)))


def crash(tmp_path):
    frames = (
        Frame("/usr/lib/threading.py", 1, "run"),
        Frame(str(tmp_path / "spider.py"), 9, "work"),
    )
    return Failure("exception", "AttributeError", "no 'get_d'", "0.1", frames)


def signature(runs, passing=4, **changes):
    fields = {
        "signature": "AttributeError in spider.py:work",
        "kind": "exception",
        "switch": "gil",
        "latent": False,
        "count": len(runs),
        "rate": 0.5,
        "failing": runs,
        "passing": passing,
    }
    return SignatureFacts(**{**fields, **changes})


def built(tmp_path, *signatures, table=TABLE):
    (tmp_path / "spider.py").write_text(SOURCE)
    warnings = (Notice("hangs", "one run hung"),)
    counts, reached = RunCounts(9, 4, 4, 1), Instrumented(1, 9, 3, 3)
    facts = CampaignFacts("c", ("pytest",), 1.5, counts, reached, warnings, signatures)
    return build_report(facts, table, tmp_path)


@pytest.fixture
def report(tmp_path):
    passing = [passing_graph() for _ in range(4)]
    findings = told([failing_run().graph for _ in range(4)], passing)
    values = seen(
        findings,
        {
            SIZE: CapturedAccess("1", ("Queue.lock",), sections=(1,)),
            TAKE: CapturedAccess("0", ("Queue.lock",), sections=(2,)),
            TEST: CapturedAccess("0", ("Queue.lock",), sections=(3,)),
        },
    )
    runs = [failing_run(values, crash(tmp_path)) for _ in range(4)]
    return built(tmp_path, signature(runs, findings=findings))


def test_the_campaign_is_taken_over(report):
    assert (report.version, report.campaign, report.command) == (1, "c", ("pytest",))
    assert report.runs.hang == 1
    assert report.warnings[0].slug == "hangs"


def test_the_failure_is_named_by_its_innermost_frame(report):
    failure = report.failures[0]
    assert failure.message == "AttributeError: no 'get_d'"
    assert failure.where == "spider.py:9 in work"
    assert failure.run == "run-0007"
    assert failure.threads["0.2"] == "b"
    assert (failure.failing, failure.passing) == (4, 4)


def test_the_best_finding_is_the_broken_atomicity(report):
    best = report.failures[0].findings[0]
    assert (best.rank, best.method, best.kind) == (1, "recon", "atomicity")
    assert best.variables == ("Queue.qsize",)
    assert (best.runs, best.passing, best.locks_checked) == (4, 0, True)
    assert best.status == "untested"


def test_its_points_are_in_time_order_with_threads_values_and_locks(report):
    points = report.failures[0].findings[0].points
    assert [(p.line, p.op, p.thread, p.value) for p in points] == [
        (3, "read", "0.1", "1"),
        (7, "write", "0.2", "0"),
        (5, "read", "0.1", "0"),
        (9, "fail", "0.1", "AttributeError"),
    ]
    assert [p.role for p in points] == [1, 2, 1, 1]
    assert points[0].text == "return self.qsize"
    assert points[0].locks == ("Queue.lock",)
    assert [p.sections for p in points] == [(1,), (2,), (3,), ()]
    assert not any(p.unseen for p in points)
    assert points[0].file == "spider.py"


def test_a_point_on_the_same_cell_has_the_name_of_the_edge(report):
    """The test's own site has no noted variable."""
    assert {p.variable for p in report.failures[0].findings[0].points if p.op != "fail"} == {
        "Queue.qsize"
    }


def test_without_a_capture_values_and_locks_are_unknown(tmp_path):
    runs = [failing_run()]
    report = built(tmp_path, signature(runs, findings=told([runs[0].graph])))
    best = report.failures[0].findings[0]
    assert not best.locks_checked
    assert {p.value for p in best.points} == {None}
    assert all(p.unseen for p in best.points)
    assert "fail" not in {p.op for p in best.points}


def test_a_failure_in_a_thread_without_a_part_gets_a_role_of_its_own(tmp_path):
    frame = Frame(str(tmp_path / "spider.py"), 8, "test")
    failure = Failure("assertion", "AssertionError", "", "0", (frame,))
    runs = [failing_run(failure=failure)]
    report = built(tmp_path, signature(runs, findings=told([runs[0].graph])))
    last = report.failures[0].findings[0].points[-1]
    assert (last.thread, last.role, last.op) == ("0", 3, "fail")


def test_the_failing_line_follows_the_access_on_it(tmp_path):
    frame = Frame(str(tmp_path / "spider.py"), 3, "size")
    failure = Failure("exception", "ValueError", "", "0.1", (frame,))
    runs = [failing_run(failure=failure)]
    report = built(tmp_path, signature(runs, findings=told([runs[0].graph])))
    points = report.failures[0].findings[0].points
    at_line = [i for i, p in enumerate(points) if p.line == 3]
    assert [points[i].op for i in at_line] == ["read", "fail"]
    assert at_line[1] == at_line[0] + 1


def fails_at(*points):
    """Where the line that fails is put among points of a thread; its own line is 3."""
    frame = Frame("m.py", 3, "f")
    run = failing_run(failure=Failure("exception", "ValueError", "", "0.1", (frame,)))
    shown = with_failing_lines(points, run, Sources(Path()))
    return [point.op for point in shown].index("fail")


def access(line, *stack, **more):
    return FindingPoint("m.py", line, "f", "0.1", 1, "read", "x", "body", 1.0, stack=stack, **more)


def test_what_nobody_caught_is_the_last_that_its_thread_did():
    assert fails_at(access(3), access(5)) == 2
    assert fails_at(access(3), access(5, unseen=True)) == 1
    assert fails_at(access(3, unseen=True), access(9, "m.py:3 in f", unseen=True)) == 2


def test_a_signature_without_findings_or_runs(tmp_path):
    failure = built(tmp_path, signature([], kind="exit")).failures[0]
    assert failure.message == "AttributeError in spider.py:work"
    assert (failure.findings, failure.where, failure.run) == ((), "", "")


def test_a_program_that_ends_with_a_status_is_called_that():
    failure = Failure("exit", "SystemExit", "exit status 1")
    assert _message(failure, Sources(Path())) == "exit status 1"
    failure = Failure("exit", "SystemExit", "no such host")
    assert _message(failure, Sources(Path())) == "SystemExit: no such host"


def deadlocked(*waits):
    return FailingRun("run-0001", graph(), THREADS, Failure("deadlock"), waits)


def test_what_was_not_proved_is_explained_by_its_most_telling_points(report):
    best = report.failures[0].findings[0]
    assert best.orders == () and best.explanation == explanation(best) != ()


def stuck(run, table):
    """The facts of a signature whose only run got stuck."""
    answer = stuck_answer([Stuck(run.graph, run.waits)], table.point, "joined", 4)
    return signature([run], kind="deadlock", findings=[answer])


NOWHERE = 3  # what was taken at no line of the source
LOCKS = Table(
    at(5, Op.WAIT, "a.lock"),
    at(7, Op.WAIT, "b.lock"),
    at(3, Op.WAIT, "a.lock"),
    Point(UNKNOWN_SITE, Op.ACQUIRE),
)


def test_a_deadlock_is_told_as_a_cycle(tmp_path):
    run = deadlocked(Wait(1, 1, 2, 0xB, NOWHERE), Wait(2, 0, 1, 0xA, NOWHERE))
    report = built(tmp_path, stuck(run, LOCKS), table=LOCKS)
    (finding,) = report.failures[0].findings
    assert (finding.kind, finding.score, finding.variables) == (
        "deadlock",
        5.0,
        ("b.lock", "a.lock"),
    )
    assert [(p.thread, p.op, p.variable, p.locks, p.line) for p in finding.points] == [
        ("0.1", "wait", "b.lock", ("a.lock",), 7),
        ("0.2", "wait", "a.lock", ("b.lock",), 5),
    ]


def test_locks_of_the_same_name_are_told_apart(tmp_path):
    run = deadlocked(Wait(1, 0, 2, 0xA, NOWHERE), Wait(2, 2, 1, 0xB, NOWHERE))
    report = built(tmp_path, stuck(run, LOCKS), table=LOCKS)
    points = report.failures[0].findings[0].points
    assert [(p.variable, p.locks) for p in points] == [
        ("a.lock #1", ("a.lock #2",)),
        ("a.lock #2", ("a.lock #1",)),
    ]


def test_threads_that_only_wait_for_the_cycle_are_left_out():
    waits = (Wait(0, 0, 1, 1), Wait(1, 0, 2, 2), Wait(2, 0, 1, 3))
    assert in_cycle(waits) == waits[1:]


def test_waiting_for_nobody_is_no_cycle_but_told(tmp_path):
    run = deadlocked(Wait(1, 0, -1, 0xA))
    assert in_cycle(run.waits) == ()
    report = built(tmp_path, stuck(run, LOCKS), table=LOCKS)
    assert [p.locks for p in report.failures[0].findings[0].points] == [()]


def test_a_captured_name_stands_in_for_one_that_was_not_noted(tmp_path):
    table = Table(at(3, Op.READ), at(5, Op.READ), at(7, Op.WRITE))
    findings = told([failing_run().graph])
    runs = [failing_run(seen(findings, {SIZE: CapturedAccess("1", (), "Spool.qsize")}))]
    report = built(tmp_path, signature(runs, findings=findings), table=table)
    best = report.failures[0].findings[0]
    assert best.variables == ("Spool.qsize",)


def test_a_thread_that_was_not_ranked_is_the_one_that_was_replayed(tmp_path):
    findings = [replace(one, threads={0: {0: 1}}) for one in told([failing_run().graph])]
    values = seen(findings, {TAKE: CapturedAccess("1", (), thread="0.2")})
    report = built(tmp_path, signature([failing_run(values)], findings=findings))
    points = report.failures[0].findings[0].points
    assert {p.line: p.thread for p in points}[7] == "0.2"


def test_causes_of_their_own_name_each_other(tmp_path):
    passing = [passing_graph() for _ in range(4)]
    (whole,) = told([failing_run().graph for _ in range(4)], passing)
    findings = [whole, *(replace(whole, lines=whole.lines[at:]) for at in (1, 2))]
    runs = [failing_run(None, crash(tmp_path)) for _ in range(4)]
    (failure,) = built(tmp_path, signature(runs, findings=findings, causes=2)).failures
    first, second, *rest = failure.findings
    assert failure.causes == (first.id, second.id)
    assert (first.given, second.given) == ((second.id,), (first.id,))
    assert rest and not any(one.given for one in rest)
    assert failure.causes_note == "2 independent causes: both must be mended."
