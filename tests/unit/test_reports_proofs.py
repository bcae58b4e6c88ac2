# SPDX-License-Identifier: Apache-2.0
"""What experiments proved, as a report shows it."""

import io
from pathlib import Path

import msgspec
import pytest
from tests.unit.test_reports_build import SIZE, TABLE, TAKE, TEST, built, crash, failing_run, told
from tests.unit.test_reports_output import detailed

from unsnarl.model.report import Fix, SourceLine, numbered
from unsnarl.model.run import Failure, Frame
from unsnarl.model.sources import Sources
from unsnarl.reports.explain import with_failing_lines
from unsnarl.reports.facts import (
    CapturedAccess,
    ExplainedEvent,
    PassingFacts,
    ProofFacts,
    SignatureFacts,
)
from unsnarl.reports.proofs import _shared_names
from unsnarl.reports.render.compare_view import difference_note, order_note
from unsnarl.reports.render.terminal import (
    make_console,
    print_finding,
    print_report,
    proof_lines,
)
from unsnarl.reports.steps import all_steps, brief_steps, passing_steps, setup_orders

CELL = 77


def event(path, point, value, **changes):
    return ExplainedEvent(path, point, CELL, CapturedAccess(value, (), "Queue.qsize"), **changes)


PROOF = ProofFacts(
    events=[event("0.1", SIZE, "1"), event("0.2", TAKE, "0"), event("0.1", TEST, "0")],
    orders=[(0, 1), (1, 2)],
    reproduced=100,
    tries=100,
    searched=31,
    passing=PassingFacts(
        [event("0.1", SIZE, "1"), event("0.1", TEST, "1"), event("0.2", TAKE, "0")], (1, 2), 1
    ),
)
FIX = Fix("region", SourceLine("spider.py", 3, ""), SourceLine("spider.py", 5, ""), runs=200)


@pytest.fixture
def failure(tmp_path):
    run = failing_run(failure=crash(tmp_path))
    facts = SignatureFacts(
        signature="s",
        kind="exception",
        switch="gil",
        latent=False,
        count=1,
        rate=0.5,
        failing=[run],
        passing=1,
        findings=told([run.graph]),
        proofs={0: PROOF},
        fixes={0: FIX},
    )
    return built(tmp_path, facts, table=TABLE).failures[0]


def test_the_explanation_is_the_events_that_matter_and_the_failing_line(failure):
    points = failure.findings[0].explanation
    assert [(p.thread, p.line, p.op, p.value) for p in points] == [
        ("0.1", 3, "read", "1"),
        ("0.2", 7, "write", "0"),
        ("0.1", 5, "read", "0"),
        ("0.1", 9, "fail", "AttributeError"),
    ]
    assert {p.variable for p in points[:3]} == {"Queue.qsize"}


def test_the_steps_shown_are_those_of_the_explanation(failure):
    steps = brief_steps(failure.findings[0])
    assert [(step.number, step.thread, step.mark) for step in steps] == [
        (1, "0.1", ""),
        (2, "0.2", ""),
        (3, "0.1", "was 1"),
        (4, "0.1", ""),
    ]


def test_orders_are_positions_in_the_explanation(failure):
    finding = failure.findings[0]
    assert finding.orders == ((1, 2), (2, 3))
    assert order_note(finding) == "step 1 before 2 before 3"


def test_orders_that_do_not_go_on_from_each_other_are_listed_apart(failure):
    finding = failure.findings[0]
    crossed = type(finding)(**{**_fields(finding), "orders": ((1, 2), (1, 3))})
    assert order_note(crossed) == "step 1 before 2 and step 1 before 3"


def _fields(finding):
    return {name: getattr(finding, name) for name in finding.__struct_fields__}


def test_the_nearest_passing_run_keeps_the_numbers_of_the_failing_one(failure):
    finding = failure.findings[0]
    steps = passing_steps(finding, brief_steps(finding))
    assert [(step.number, step.what) for step in steps] == [
        (1, "read 1"),
        (3, "read 1"),
        (2, "write 0"),
    ]
    assert difference_note(finding) == "step 3 comes before step 2"


def test_other_findings_have_no_proof(failure):
    assert all(not finding.orders for finding in failure.findings[1:])


def test_the_failure_says_how_often_it_came_back(failure):
    replay = failure.replay
    assert (replay.run, replay.constraints, replay.reproduced, replay.tries, replay.searched) == (
        "run-0007",
        2,
        100,
        100,
        31,
    )


@pytest.mark.parametrize(
    ("odd", "told"), [(0, "fail."), (1, "1 more ended in"), (7, "7 more ended in another failure")]
)
def test_runs_that_another_failure_ended_are_counted(failure, odd, told):
    replay = msgspec.structs.replace(failure.replay, odd=odd)
    changed = msgspec.structs.replace(failure, replay=replay)
    assert told in proof_lines(changed, changed.findings[0])[0]


def test_a_fix_has_the_text_of_its_lines(failure):
    fix = failure.findings[0].fix
    assert (fix.begin.text, fix.end.text) == ("return self.qsize", "if self.qsize == 0:")


@pytest.fixture
def with_setup(failure):
    """The same explanation behind a step that only brought the threads there."""
    finding = failure.findings[0]
    first = finding.explanation[0]
    brought = msgspec.structs.replace(first, line=1, text="barrier.wait()", setup=True)
    orders = ((1, 3), *((before + 1, after + 1) for before, after in finding.orders))
    moved = tuple(position + 1 for position in finding.nearest.moved)
    return msgspec.structs.replace(
        finding,
        explanation=(brought, *finding.explanation),
        orders=orders,
        nearest=msgspec.structs.replace(finding.nearest, moved=moved),
    )


def test_what_brought_the_threads_there_is_folded(failure, with_setup):
    assert brief_steps(with_setup) == brief_steps(failure.findings[0])
    assert setup_orders(with_setup) == 1
    assert order_note(with_setup) == order_note(failure.findings[0])
    assert difference_note(with_setup) == difference_note(failure.findings[0])


def test_on_request_it_is_shown_without_a_number(with_setup):
    steps = all_steps(with_setup)
    assert [(step.number, step.mark) for step in steps[:3]] == [(0, "set-up"), (1, ""), (2, "")]


def test_a_report_counts_it_and_show_has_it(failure, with_setup):
    shown = msgspec.structs.replace(failure, findings=(with_setup,))
    report = msgspec.structs.replace(detailed(), failures=(shown,))
    brief, whole = (io.StringIO() for _ in range(2))
    print_report(report, make_console(brief, 100))
    print_finding(report, numbered(report)[0], make_console(whole, 100))
    assert "set-up: 1 more order, unsnarl show" in brief.getvalue()
    assert "barrier.wait()" not in brief.getvalue()
    assert (
        "With step 1 before 2 before 3 and the set-up, 100/100 fresh runs fail." in brief.getvalue()
    )
    assert "barrier.wait()" in whole.getvalue()


def test_the_line_of_a_future_is_that_of_the_thread_that_raised_there(failure):
    """The thread that asks for the result has the exception, but never was on that line."""
    points = failure.findings[0].explanation[:3]
    frame = Frame("spider.py", 5, "take")
    run = failing_run(failure=Failure("exception", "KeyError", "", "0", (frame,)))
    shown = with_failing_lines(points, run, Sources(Path()))
    assert [(point.thread, point.line) for point in shown if point.op == "fail"] == [("0.1", 5)]


def test_one_thing_has_one_name_whatever_its_functions_call_it(failure):
    points = failure.findings[0].explanation[:3]
    local = [
        msgspec.structs.replace(point, variable=name)
        for point, name in zip(points, ("fh", "fh", "file"), strict=True)
    ]
    assert _shared_names(local, PROOF.events) == {CELL: "file"}
    local[1] = msgspec.structs.replace(local[1], variable="Lock.fh")
    assert _shared_names(local, PROOF.events) == {CELL: "Lock.fh"}
    assert _shared_names(points, PROOF.events) == {}
