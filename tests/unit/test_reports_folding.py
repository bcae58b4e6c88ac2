# SPDX-License-Identifier: Apache-2.0
"""What a long explanation can do without."""

from msgspec.structs import replace

from unsnarl.model.report import FindingPoint
from unsnarl.reports.folding import folded, without_idle, without_spectators, without_unrelated

CHECK, USE = "if self.count == 1:", "n = self.count"


def point(thread, line, op, variable, text=""):
    return FindingPoint(
        "m.py", line, "f", f"0.{thread}", thread, op, variable, "body", 1.0, value="1", text=text
    )


def lines(points):
    return [one.line for one in points if not one.setup]


def shortened(*points, ordered=()):
    ids = {id(points[at]) for at in ordered}
    filling = [point(3, line, "write", "other") for line in range(100, 108)]
    return [line for line in lines(folded([*points, *filling], ids, lambda *_: "")) if line < 100]


def test_a_thread_that_only_looked_is_left_out_if_another_one_looked_at_more():
    points = [
        point(1, 1, "write", "instance"),
        point(2, 2, "read", "instance"),
        point(3, 3, "read", "instance"),
        point(3, 4, "read", "rules"),
        point(1, 5, "write", "rules"),
    ]
    assert lines(without_spectators(points)) == [1, 3, 4, 5]
    assert lines(without_spectators([*points, point(2, 6, "fail", "")])) == [1, 2, 3, 4, 5, 6]
    assert lines(without_spectators([*points, point(2, 6, "write", "x")])) == [1, 2, 3, 4, 5, 6]


def test_of_two_that_looked_at_the_same_one_stays():
    points = [point(1, 1, "write", "x"), point(2, 2, "read", "x"), point(3, 3, "read", "x")]
    assert lines(without_spectators(points)) == [1, 3]


def test_who_checks_twice_has_decided_by_the_second_check():
    first, second = point(1, 1, "read", "count", CHECK), point(1, 2, "read", "count", CHECK)
    other, last = point(2, 3, "write", "count"), point(1, 4, "write", "count")
    assert shortened(first, second, other, last) == [2, 3, 4]
    assert shortened(first, second, other, last, ordered=[0]) == [1, 2, 3, 4]
    assert shortened(first, other, second, last) == [1, 3, 2, 4]
    assert shortened(first, replace(second, value="2"), other, last) == [1, 2, 3, 4]
    assert shortened(first, replace(second, text=USE), other, last) == [1, 2, 3, 4]


def test_a_short_explanation_is_left_as_it_is():
    points = [point(1, 1, "read", "x", CHECK), point(1, 2, "read", "x", CHECK)]
    assert lines(folded(points, (), lambda *_: "")) == [1, 2]


def test_an_idle_worker_of_a_pool_is_no_part_of_a_standstill():
    mine, idle = point(1, 5, "wait", "event"), point(2, 0, "wait", "")
    assert [one.setup for one in without_idle([mine, idle])] == [False, True]
    assert [one.setup for one in without_idle([idle])] == [False]


def test_who_looked_before_a_write_and_behind_it_is_no_spectator():
    points = [
        point(1, 1, "read", "taken"),
        point(2, 2, "read", "taken"),
        point(3, 3, "write", "taken"),
        point(1, 4, "read", "taken"),
    ]
    assert lines(without_spectators(points)) == [1, 3, 4]
    assert lines(without_spectators([points[1], points[0], *points[2:]])) == [1, 3, 4]


def test_neither_of_two_is_a_spectator_if_they_looked_at_different_times():
    points = [point(1, 1, "read", "x"), point(3, 2, "write", "x"), point(2, 3, "read", "x")]
    assert lines(without_spectators(points)) == [1, 2, 3]


def test_a_read_of_what_nobody_else_touches_only_says_when():
    points = [
        point(1, 1, "write", "values"),
        point(2, 2, "read", "values"),
        point(3, 3, "read", "cache"),
        point(1, 4, "write", "expires['a']"),
    ]
    assert lines(without_unrelated(points, ["values"])) == [1, 2, 4]
    assert lines(without_unrelated(points, ["values", "cache"])) == [1, 2, 3, 4]
    written = [*points, point(1, 5, "write", "cache['b']")]
    assert lines(without_unrelated(written, ["values"])) == [1, 2, 3, 4, 5]


def test_reads_stay_where_nothing_would_be_left_of_a_second_thread():
    points = [point(1, 1, "write", "values"), point(2, 2, "read", "ready")]
    assert lines(without_unrelated(points, ["values"])) == [1, 2]
