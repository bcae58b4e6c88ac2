# SPDX-License-Identifier: Apache-2.0
"""Which accesses of a capture belong to the lines of an answer."""

import numpy as np
import pytest
from tests.unit.runfile_writer import notes as notes_of
from tests.unit.runfile_writer import run_file

from unsnarl.analyses.answer import Answer, Line
from unsnarl.model.graph import EDGE, Graph
from unsnarl.model.run import Thread
from unsnarl.reports import captured_values
from unsnarl.reports.facts import FailingRun
from unsnarl.runfile.reader import parse_run

READ, WRITE, OTHER = 16, 17, 32
PATHS = ("0", "0.1", "0.2", "0.3")


class Same:
    """An interner for which raw points are indexes."""

    def indexes(self, raw, run):
        return raw


def noted(path, point, value, *, locks=(), cell=(1, "", 1)):
    """`locks`: name, number, section."""
    names = [name for name, _, _ in locks]
    return [0, point, path, value, names, "Box.n", [lock[1:] for lock in locks], cell]


def line(point, region, anchor, same_cell=1.0):
    return Line(point, region, anchor + 1, 1.0, 0.0, 1.0, same_cell, anchor)


RWW = (line(READ, "prefix", 1), line(WRITE, "source", 0), line(WRITE, "sink", 1))


def captured(notes, lines=RWW, threads=(1, 2)):
    """What was captured at each line: a CapturedAccess, or None."""
    answer = Answer("falcon", 1.0, {}, lines, (4,), 0, {4: dict(enumerate(threads))})
    made = tuple(Thread(i, 0, path, "", 9, True, False, True) for i, path in enumerate(PATHS))
    run = FailingRun("run", Graph(np.zeros(0, dtype=EDGE)), made)
    replay = parse_run(run_file([notes_of({"values": notes})]))
    seen = captured_values.captured_events(replay, Same())
    found = captured_values.assign(seen, [answer], run, 4)
    return [found.get((0, at)) for at in range(len(lines))]


def values_of(*arguments, **more):
    return [one and one.value for one in captured(*arguments, **more)]


def test_the_latest_occurrence_in_the_order_of_the_lines_is_taken():
    notes = [
        noted("0.2", READ, "early"),
        noted("0.1", WRITE, "early"),
        noted("0.2", WRITE, "early"),
        noted("0.2", READ, "1"),
        noted("0.1", WRITE, "2"),
        noted("0.2", WRITE, "3"),
    ]
    assert values_of(notes) == ["1", "2", "3"]


def test_an_occurrence_that_has_all_lines_is_better_than_a_later_one():
    notes = [
        noted("0.1", WRITE, "0"),
        noted("0.2", READ, "1"),
        noted("0.1", WRITE, "2"),
        noted("0.2", WRITE, "3"),
        noted("0.1", READ, "3"),
        noted("0.2", WRITE, "4"),
    ]
    lines = (*RWW, line(READ, "suffix", 0))
    assert values_of(notes, lines) == ["1", "2", "3", "3"]


def test_accesses_of_another_object_are_left_out():
    notes = [
        noted("0.2", READ, "mine"),
        noted("0.2", READ, "other", cell=(2, "", 2)),
        noted("0.1", WRITE, "mine"),
        noted("0.1", WRITE, "other", cell=(2, "", 2)),
        noted("0.2", WRITE, "mine"),
    ]
    assert values_of(notes) == ["mine"] * 3


def test_accesses_of_another_element_are_left_out_where_the_ends_share_one():
    notes = [
        noted("0.2", READ, "a", cell=(1, "['a']", 1)),
        noted("0.2", READ, "b", cell=(1, "['b']", 1)),
        noted("0.1", WRITE, "a", cell=(1, "['a']", 1)),
        noted("0.2", WRITE, "a", cell=(1, "['a']", 1)),
    ]
    assert values_of(notes) == ["a", "a", "a"]
    assert values_of(notes[1:]) == [None, "a", "a"]


def test_a_line_without_an_access_in_its_turn_has_no_value():
    notes = [
        noted("0.1", WRITE, "1"),
        noted("0.2", WRITE, "2"),
        noted("0.2", READ, "too late"),
    ]
    assert values_of(notes) == [None, "1", "2"]


def test_ends_in_the_wrong_order_are_no_occurrence():
    assert captured([noted("0.2", WRITE, "1"), noted("0.1", WRITE, "2")]) == [None] * 3


def test_the_same_point_twice_is_two_accesses():
    lines = (line(READ, "prefix", 1), line(WRITE, "source", 0), line(READ, "sink", 1))
    notes = [
        noted("0.2", READ, "1"),
        noted("0.1", WRITE, "0"),
        noted("0.2", READ, "0"),
    ]
    assert values_of(notes, lines) == ["1", "0", "0"]


def test_a_thread_that_was_not_ranked_is_another_one_and_stays_the_same():
    lines = (*RWW, line(OTHER, "suffix", 2, 0.0), line(OTHER, "suffix", 2, 0.0))
    notes = [
        noted("0.1", WRITE, "2"),
        noted("0.2", WRITE, "3"),
        noted("0.1", OTHER, "a"),
        noted("0.3", OTHER, "b"),
        noted("0", OTHER, "c"),
        noted("0.3", OTHER, "d"),
    ]
    found = captured(notes, lines)
    assert [(one.value, one.thread) for one in found[3:]] == [("b", "0.3"), ("d", "0.3")]


def test_locks_of_one_name_are_numbered():
    notes = [
        noted("0.2", READ, "1", locks=[("Box.lock", 7, 1)]),
        noted("0.1", WRITE, "2", locks=[("Box.lock", 8, 2)]),
        noted("0.2", WRITE, "3", locks=[("Box.lock", 7, 1)]),
    ]
    assert [(one.locks, one.sections) for one in captured(notes)] == [
        (("Box.lock",), (1,)),
        (("Box.lock #2",), (2,)),
        (("Box.lock",), (1,)),
    ]


def test_the_lock_that_is_held_most_often_has_the_plain_name():
    notes = [
        noted("0.2", READ, "1", locks=[("Box.lock", 7, 1), ("Box.lock", 8, 2)]),
        noted("0.1", WRITE, "2", locks=[("Box.lock", 8, 3)]),
        noted("0.2", WRITE, "3", locks=[("Box.lock", 7, 1), ("Box.lock", 8, 4)]),
    ]
    assert [one.locks for one in captured(notes)] == [
        ("Box.lock #2", "Box.lock"),
        ("Box.lock",),
        ("Box.lock #2", "Box.lock"),
    ]


@pytest.mark.parametrize("notes", [[], "nonsense", [["nonsense"]]])
def test_without_values_nothing_is_captured(notes):
    assert captured(notes) == [None] * 3


def test_a_point_that_is_passed_very_often_costs_little():
    turn = [noted("0.2", READ, "1"), noted("0.1", WRITE, "2"), noted("0.2", WRITE, "3")]
    assert values_of(turn * 5000) == ["1", "2", "3"]
