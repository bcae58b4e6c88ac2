# SPDX-License-Identifier: Apache-2.0
"""Swallowed exceptions: which set failing runs apart, what they cut off, how they divide runs."""

from pathlib import Path

import numpy as np
from msgspec.structs import replace

from unsnarl.campaigns.signature_split import groups
from unsnarl.campaigns.swallowed import chain, cut_off, discriminating, failing_point
from unsnarl.execution.signatures import distinguished, of_caught
from unsnarl.model.evidence import Evidence
from unsnarl.model.graph import EDGE, Graph
from unsnarl.model.pattern import PATTERN, PatternKind
from unsnarl.model.run import Caught, Failure, Frame
from unsnarl.runfile.notes import parse_notes

HANDLER = Frame("/p/helpers.py", 18, "run")


def caught(name="KeyError", line=10, time=5, thread="0.1", by=HANDLER):
    return Caught(name, "'x'", thread, time, (Frame("/p/store.py", line, "drop"),), by)


def kinds(found):
    return [(one.kind.type, one.failing, one.passing) for one in found]


def test_what_all_failing_runs_have_and_no_passing_run_is_the_failing_point():
    failing = [[caught(), caught("OSError")]] * 5
    found = discriminating(failing, [[caught("OSError")]] * 5)
    assert kinds(found) == [("KeyError", 5, 0)]
    assert failing_point(found) == caught().kind


def test_a_call_that_returned_an_error_sets_runs_apart_but_cuts_nothing():
    refused = replace(caught("ENOENT"), call="open")
    found = discriminating([[refused]] * 5, [[]] * 5)
    assert kinds(found) == [("ENOENT", 5, 0)]
    assert failing_point(found) is None
    assert failing_point([*found, *discriminating([[caught()]] * 5, [[]] * 5)]) == caught().kind


def test_nearly_all_is_enough_and_half_is_not():
    lacking = [[caught()]] * 19 + [[]]
    assert kinds(discriminating(lacking, [[]] * 5)) == [("KeyError", 19, 0)]
    assert not discriminating([[caught()]] * 5 + [[]] * 5, [[]] * 5)


def test_what_few_passing_runs_have_is_shown_but_is_no_failing_point():
    found = discriminating([[caught()]] * 10, [[caught()]] * 3 + [[]] * 7)
    assert kinds(found) == [("KeyError", 10, 3)]
    assert failing_point(found) is None
    assert not discriminating([[caught()]] * 10, [[caught()]] * 6 + [[]] * 4)


def test_without_passing_runs_or_with_two_failing_ones_nothing_is_claimed():
    assert not discriminating([[caught()]] * 5, [])
    assert not discriminating([[caught()]] * 2, [[]] * 5)


def test_the_earlier_one_comes_first():
    run = [caught("OSError", time=9), caught("KeyError", time=4)]
    found = discriminating([run] * 5, [[]] * 5)
    assert [one.kind.type for one in found] == ["KeyError", "OSError"]
    assert failing_point(found).type == "KeyError"


def test_an_exception_that_was_raised_again_is_shown_once_at_its_last_handler():
    outer = Frame("/p/pool.py", 3, "work")
    run = [caught(), caught(by=outer), caught("OSError", time=8)]
    links = chain(run, None, discriminating([run] * 5, [[]] * 5))
    assert [(one.type, one.by) for one in links] == [("KeyError", outer), ("OSError", HANDLER)]


def test_the_symptom_is_no_link_of_its_own_chain():
    failure = Failure("exception", "KeyError", frames=(Frame("/p/store.py", 10, "drop"),))
    swallowed = discriminating([[caught()]] * 5, [[]] * 5)
    assert chain([caught()], failure, swallowed) == ()


def edge(source_thread, source_time, sink_thread, sink_time, count=1):
    threads = (source_thread, sink_thread)
    return (1, 2, 0, 0, *threads, source_time, sink_time, 7, count, 0)


def pattern(kind, times, count=1):
    first, other, last = times
    return (1, 2, 3, 1, 2, first, other, 7, count, kind, 2, last)


def test_what_a_thread_does_after_it_has_failed_is_no_evidence():
    edges = [edge(1, 3, 2, 4), edge(2, 4, 1, 9), edge(1, 8, 2, 9), edge(2, 8, 0, 9)]
    evidence = Evidence(Graph(np.array(edges, dtype=EDGE)))
    left = cut_off(evidence, {1: 5}).graph.edges
    assert [tuple(row)[6:8] for row in left.tolist()] == [(3, 4), (8, 9)]


def test_patterns_end_with_the_thread_that_made_their_last_access():
    rows = [
        pattern(PatternKind.RWR, (1, 2, 3)),
        pattern(PatternKind.RWR, (1, 2, 9)),  # last by thread 1
        pattern(PatternKind.REREAD, (1, 2, 9)),  # last by thread 2
        pattern(PatternKind.RW, (9, 9, 0)),
    ]
    evidence = Evidence(Graph(np.empty(0, EDGE)), patterns=np.array(rows, dtype=PATTERN))
    left = cut_off(evidence, {1: 5}).patterns
    assert left["kind"].tolist() == [PatternKind.RWR, PatternKind.REREAD]


def test_what_came_several_times_came_before_too_if_its_pair_did():
    rows = np.array([pattern(PatternKind.RWR, (7, 8, 9), count=2)], dtype=PATTERN)
    early = np.array([pattern(PatternKind.RW, (1, 2, 0))], dtype=PATTERN)
    late = np.array([pattern(PatternKind.RW, (7, 8, 0))], dtype=PATTERN)
    left = {
        len(pairs): cut_off(Evidence(Graph(np.empty(0, EDGE)), rows, pairs=pairs), {1: 5})
        for pairs in (late, np.concatenate([early, late]))
    }
    assert [len(left[count].patterns) for count in (1, 2)] == [0, 1]
    assert [len(left[count].pairs) for count in (1, 2)] == [0, 1]


def test_runs_that_swallow_different_exceptions_are_divided():
    assert groups([["key"]] * 12 + [["size"]] * 10, 20) == ("key", "size")
    assert groups([["key"]] * 12 + [[]] * 10, 20) == ("key",)


def test_runs_that_all_swallow_the_same_are_not_divided_by_what_only_some_swallow():
    assert groups([["key", "empty"]] * 10 + [["key"]] * 12, 20) == ()
    assert groups([["key"]] * 20 + [[]], 20) == ()
    assert groups([[]] * 20, 20) == ()


def test_few_runs_are_chance():
    assert groups([["key"]] * 4 + [[]] * 20, 24) == ()
    assert groups([], 20) == ()


def test_a_signature_has_the_exception_that_divides_its_runs():
    name = of_caught(caught(), Path("/p"))
    assert name == "KeyError in store.py:drop"
    assert distinguished("exit status 1", ["a", name], [name, "a"]) == f"exit status 1 after {name}"
    assert distinguished("exit status 1", ["b"], [name]) == "exit status 1"


def test_what_is_caught_after_the_failure_is_no_part_of_it():
    one = (
        b'{"caught": {"type": "%s", "message": "", "thread": "0", "time": 1,'
        b' "frames": [], "by": ["f", 1, "g"]}}'
    )
    failure = b'{"failure": {"kind": "exit", "since": 7}}'
    notes = parse_notes(b"\n".join([one % b"KeyError", failure, one % b"OSError"]))
    assert [each.type for each in notes.caught] == ["KeyError"]
    assert notes.failures[0].since == 7
