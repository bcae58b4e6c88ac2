# SPDX-License-Identifier: Apache-2.0
"""Answers about a conflict that an earlier one shows already."""

from unsnarl.analyses.answer import Answer, Line
from unsnarl.analyses.repeated import repeats_last
from unsnarl.model.event import Op
from unsnarl.model.site import Point, Site

# By point: line, function and variable.
POINTS = {
    1: (10, "size", "Queue.length"),
    2: (11, "size", "Queue.length"),
    3: (20, "take", "Queue.length"),
    4: (21, "take", "Queue.length"),
    5: (20, "take", "Queue.pages"),
}


def point(index):
    line, function, variable = POINTS[index]
    return Point(Site("m.py", function, line, line, 0, 0, "attr_read", "n", variable), Op.READ)


def answer(*lines, is_stuck=False):
    """Each line: its point and the thread."""
    shown = tuple(
        Line(one, "body", role, 1.0, float(at), 1.0, 1.0, 0) for at, (one, role) in enumerate(lines)
    )
    return Answer("joined", 1.0, {}, shown, (0,), 0, {}, is_stuck=is_stuck)


FIRST = answer((1, 1), (3, 2), (1, 1))
NEIGHBOUR = answer((2, 5), (4, 3), (1, 5))  # other lines, threads counted from elsewhere
OTHER = answer((1, 1), (5, 2), (1, 1))
BACK = answer((3, 1), (1, 2), (3, 1))


def test_a_neighbour_of_an_earlier_answer_comes_after_the_others():
    assert repeats_last([FIRST, NEIGHBOUR, OTHER, BACK], point, 1) == [0, 2, 3, 1]


def test_what_was_confirmed_stays():
    assert repeats_last([FIRST, NEIGHBOUR, OTHER], point, 2) == [0, 1, 2]


def test_where_nothing_was_confirmed_the_ranking_stays():
    assert repeats_last([FIRST, NEIGHBOUR, OTHER], point, 0) == [0, 1, 2]


def test_a_wait_is_no_repetition():
    waits = answer((1, 1), (3, 2), (1, 1), is_stuck=True)
    assert repeats_last([FIRST, waits, OTHER], point, 1) == [0, 1, 2]
