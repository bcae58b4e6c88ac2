# SPDX-License-Identifier: Apache-2.0
"""The chain from the race to the symptom, as a sentence and as points."""

from pathlib import Path

import numpy as np
from msgspec.structs import replace

from unsnarl.campaigns.swallowed import Swallowed
from unsnarl.model.graph import EDGE, Graph
from unsnarl.model.report import FailureReport, FindingPoint, SourceLine, SwallowedException
from unsnarl.model.run import Caught, Failure, Frame
from unsnarl.model.sources import Sources
from unsnarl.reports.chain import chain_note, chain_of
from unsnarl.reports.explain import with_failing_lines
from unsnarl.reports.facts import FailingRun

SOURCES = Sources(Path("/p"))
CAUGHT = Caught(
    "KeyError",
    "'x'",
    "0.1",
    5,
    (Frame("/p/session.py", 1144, "get"),),
    Frame("/p/helpers.py", 18, "run"),
)
SYMPTOM = Failure("assertion", "AssertionError", "no", "0", (Frame("/p/test_s.py", 33, "test"),))


def run(*chain, failure=SYMPTOM):
    return FailingRun("000001", Graph(np.empty(0, EDGE)), failure=failure, chain=chain)


def failure(*chain, where="session.py:33 in test", kind="assertion"):
    return FailureReport(
        "s", kind, "gil", False, 5, 1.0, "m", where, (), failing=5, passing=8, chain=chain
    )


def exception(raised=("session.py", 1144), caught=("helpers.py", 18), passing=0, message="'x'"):
    lines = (SourceLine(file, line, "f") for file, line in (raised, caught))
    return SwallowedException("KeyError", message, "0.1", *lines, 5, passing)


def test_the_sentence_ends_at_the_symptom():
    assert chain_note(failure(exception())) == (
        "KeyError: 'x' at session.py:1144, caught at helpers.py:18; the run fails at session.py:33"
    )
    assert chain_note(failure()) == ""


def test_a_call_returned_its_error_and_nobody_caught_it():
    one = replace(exception(caught=("session.py", 1144)), type="ENOENT", call="open")
    assert chain_note(failure(one)) == (
        "open returned ENOENT at session.py:1144; the run fails at :33"
    )
    refused = replace(CAUGHT, type="ENOENT", call="open", by=CAUGHT.frames[0])
    line = with_failing_lines((), run(refused), SOURCES)[0]
    assert (line.value, line.caught) == ("open returned ENOENT", "")


def test_a_file_is_named_once_in_a_row():
    one = exception(caught=("session.py", 1150))
    assert chain_note(failure(one)) == (
        "KeyError: 'x' at session.py:1144, caught at :1150; the run fails at :33"
    )


def test_a_test_fails_and_a_process_ends():
    assert chain_note(failure(exception(), where="test_s.py:33 in t")).endswith(
        "; the test fails at test_s.py:33"
    )
    assert chain_note(failure(exception(), where="test_s.py:33 in t", kind="exit")).endswith(
        "; the run fails at test_s.py:33"
    )
    assert chain_note(failure(exception(), where="")).endswith("; the run fails later")
    assert chain_note(failure(exception(), kind="deadlock")).endswith(
        "; then no thread can continue"
    )


def test_it_is_said_how_many_passing_runs_have_it():
    note = chain_note(failure(exception(passing=2)))
    assert "caught at helpers.py:18 (in 5/5 failing, 2/8 passing runs);" in note


def test_a_message_is_one_short_line():
    note = chain_note(failure(exception(message="a" * 200 + "\nb")))
    assert "a" * 99 + "…" in note
    assert "b at" not in note


def test_the_report_has_the_figures_of_each_exception():
    (one,) = chain_of([Swallowed(CAUGHT.kind, 5, 1)], run(CAUGHT), SOURCES)
    assert (one.raised.file, one.raised.line) == ("session.py", 1144)
    assert (one.caught.file, one.caught.line, one.caught.function) == ("helpers.py", 18, "run")
    assert (one.failing, one.passing) == (5, 1)


def point(thread, file, line):
    return FindingPoint(file, line, "f", thread, 1, "read", "x", "body", 1.0)


def shown(points, *chain, failure=SYMPTOM):
    found = with_failing_lines(points, run(*chain, failure=failure), SOURCES)
    return [(each.op, each.line, each.value, each.caught) for each in found]


def test_the_points_end_where_it_was_raised_and_at_the_symptom():
    points = [point("0.1", "session.py", 1144), point("0.2", "session.py", 7)]
    assert shown(points, CAUGHT) == [
        ("read", 1144, None, ""),
        ("fail", 1144, "KeyError", "helpers.py:18"),
        ("read", 7, None, ""),
        ("fail", 33, "AssertionError", ""),
    ]


def test_an_iteration_fails_behind_the_change_that_came_in_between():
    said = "dictionary changed size during iteration"
    change = replace(point("0.2", "session.py", 7), op="write")
    points = [point("0.1", "session.py", 1144), replace(change, variable="y"), change]
    iterated = replace(CAUGHT, type="RuntimeError", message=said)
    assert [each[0] for each in shown(points, iterated)] == [
        "read",
        "write",
        "write",
        "fail",
        "fail",
    ]
    assert [each[0] for each in shown(points, CAUGHT)] == ["read", "fail", "write", "write", "fail"]


def test_an_exit_is_shown_only_as_the_end_of_a_chain():
    left = Failure("exit", "SystemExit", "1", "0", (Frame("/p/main.py", 3, "<module>"),))
    assert shown([], failure=left) == []
    assert [each[:3] for each in shown([], CAUGHT, failure=left)] == [
        ("fail", 1144, "KeyError"),
        ("fail", 3, "SystemExit"),
    ]
