# SPDX-License-Identifier: Apache-2.0
"""The calls that a thread was between, as steps of their own."""

from unsnarl.model.report import FindingPoint
from unsnarl.replay.debugging import _points_of
from unsnarl.reports.calls import with_calls
from unsnarl.reports.patterns import ENTER
from unsnarl.reports.render.dot import _label

TEXTS = {35: "while queue.size() > 0:", 36: "page = queue.take()"}


def access(thread, line, function, *stack):
    return FindingPoint(
        "spider.py", line, function, thread, 1, "read", "Queue.length", "body", 1.0, stack=stack
    )


def called(*points):
    shown = with_calls(points, lambda _file, line: TEXTS.get(line, ""))
    return [(point.line, point.op, point.text, point.value) for point in shown]


def test_accesses_in_two_callees_are_shown_with_the_calls():
    first = access("0.2", 22, "Queue.size", "spider.py:35 in visit")
    other = access("0.1", 29, "Queue.take", "spider.py:36 in visit")
    last = access("0.2", 27, "Queue.take", "spider.py:36 in visit")
    assert called(first, other, last) == [
        (35, ENTER, "while queue.size() > 0:", "Queue.size"),
        (22, "read", "", None),
        (29, "read", "", None),
        (36, ENTER, "page = queue.take()", "Queue.take"),
        (27, "read", "", None),
    ]


def test_an_access_of_the_common_function_itself_needs_no_call():
    first = access("0.2", 22, "Queue.size", "spider.py:35 in visit")
    other = access("0.1", 29, "Queue.take")
    last = access("0.2", 37, "visit")
    assert [line for line, op, *_ in called(first, other, last) if op == ENTER] == []
    inner = access("0.2", 37, "visit", "spider.py:50 in main")
    outer = access("0.2", 22, "Queue.size", "spider.py:35 in visit", "spider.py:50 in main")
    assert [line for line, op, *_ in called(outer, other, inner) if op == ENTER] == [35]


def test_accesses_of_one_function_are_shown_as_they_are():
    first, last = (access("0.2", line, "visit", "spider.py:50 in main") for line in (35, 36))
    other = access("0.1", 29, "Queue.take", "spider.py:36 in visit")
    assert [op for _, op, *_ in called(first, other, last)] == ["read"] * 3


def test_who_was_not_interrupted_is_shown_as_it_is():
    first = access("0.2", 22, "Queue.size", "spider.py:35 in visit")
    last = access("0.2", 27, "Queue.take", "spider.py:36 in visit")
    assert [op for _, op, *_ in called(first, last)] == ["read"] * 2


def test_a_long_explanation_is_not_made_longer():
    first = access("0.2", 22, "Queue.size", "spider.py:35 in visit")
    last = access("0.2", 27, "Queue.take", "spider.py:36 in visit")
    others = [access("0.1", line, "f") for line in range(40, 47)]
    assert len(called(first, *others, last)) == 9


def test_a_call_names_what_is_called_on_its_line():
    stack = ("spider.py:31 in Queue.put", "spider.py:36 in visit")
    first = access("0.2", 22, "Queue._store", *stack)
    other = access("0.1", 29, "Queue.take")
    last = access("0.2", 37, "visit", "spider.py:50 in main")
    outer = access("0.2", 22, "Queue._store", *stack, "spider.py:50 in main")
    assert called(first, other, first)[0][1] == "read"
    assert called(outer, other, last)[0] == (36, ENTER, "page = queue.take()", "Queue.put")


def test_a_comprehension_is_no_call():
    first, last = (
        access("0.2", 35, "visit", "spider.py:35 in visit", f"spider.py:{line} in main")
        for line in (50, 51)
    )
    other = access("0.1", 29, "Queue.take")
    found = called(first, other, last)
    assert [(line, op) for line, op, *_ in found if op == ENTER] == [(50, ENTER), (51, ENTER)]
    again = access("0.2", 36, "visit", "spider.py:50 in main")
    inner = access("0.2", 35, "visit", "spider.py:35 in visit", "spider.py:50 in main")
    assert [op for _, op, *_ in called(inner, other, again)] == ["read"] * 3


def test_a_debugger_stops_in_the_call_that_is_a_step():
    call, inside = with_calls(
        (
            access("0.2", 22, "Queue.size", "spider.py:35 in visit"),
            access("0.1", 29, "Queue.take", "spider.py:36 in visit"),
            access("0.2", 27, "Queue.take", "spider.py:36 in visit"),
        ),
        lambda _file, _line: "",
    )[:2]
    assert _points_of([[inside], [call], [inside]], 2) == [1, 2]


def test_a_drawing_says_what_is_called():
    call = with_calls(
        (
            access("0.2", 22, "Queue.size", "spider.py:35 in visit"),
            access("0.1", 29, "Queue.take", "spider.py:36 in visit"),
            access("0.2", 27, "Queue.take", "spider.py:36 in visit"),
        ),
        lambda _file, _line: "",
    )[0]
    assert "calls Queue.size" in _label(1, call)
