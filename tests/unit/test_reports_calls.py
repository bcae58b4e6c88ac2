# SPDX-License-Identifier: Apache-2.0
"""The calls that a thread was between, as steps of their own."""

from msgspec.structs import replace

from unsnarl.model.report import FindingPoint
from unsnarl.replay.debugging import _points_of
from unsnarl.reports.calls import step_count, with_calls
from unsnarl.reports.patterns import ENTER, FAIL, gives_back
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
    """Calls that have no room of their own share a step with what was done in them."""
    first = access("0.2", 22, "Queue.size", "spider.py:35 in visit")
    last = access("0.2", 27, "Queue.take", "spider.py:36 in visit")
    others = [access("0.1", line, "f") for line in range(40, 47)]
    shown = with_calls((first, *others, last), lambda _file, line: TEXTS.get(line, ""))
    assert step_count(shown) == 9
    assert [(one.line, one.within) for one in (shown[1], shown[-1])] == [(22, True), (27, True)]


def test_all_accesses_of_a_line_are_part_of_the_call():
    read = access("0.2", 22, "Queue.size", "spider.py:35 in visit")
    write = replace(read, op="write")
    last = access("0.2", 27, "Queue.take", "spider.py:36 in visit")
    others = [access("0.1", line, "f") for line in range(40, 47)]
    shown = with_calls((read, write, *others, last), lambda *_: "")
    assert [one.within for one in shown[:3]] == [False, True, True]
    assert step_count(shown) == 9


def test_in_a_deadlock_only_the_calls_of_who_was_interrupted_are_shown():
    first = access("0.2", 22, "Queue.size", "spider.py:35 in visit")
    last = access("0.2", 27, "Queue.take", "spider.py:36 in visit")
    other = access("0.1", 50, "f")
    wait = replace(other, op="wait", line=51)
    assert ENTER not in [op for _, op, *_ in called(first, last, other, wait)]
    assert ENTER in [op for _, op, *_ in called(first, other, last, wait)]


def test_the_line_that_fails_is_shown_as_it_is():
    first = access("0.2", 22, "Queue.size", "spider.py:35 in visit")
    last = access("0.2", 27, "Queue.take", "spider.py:36 in visit")
    others = [access("0.1", line, "f") for line in range(40, 47)]
    shown = with_calls((first, *others, last, replace(last, op=FAIL)), lambda *_: "")
    assert [one.line for one in shown if one.op == ENTER] == [35]
    assert not shown[-2].within


def test_set_up_takes_no_room():
    first = access("0.2", 22, "Queue.size", "spider.py:35 in visit")
    last = access("0.2", 27, "Queue.take", "spider.py:36 in visit")
    others = [replace(access("0.1", line, "f"), setup=True) for line in range(40, 47)]
    shown = with_calls((first, *others, access("0.1", 50, "f"), last), lambda *_: "")
    assert [one.line for one in shown if one.op == ENTER] == [35, 36]
    assert not any(one.within for one in shown)


def test_the_calls_of_who_came_in_between_are_shown_as_well():
    first, last = (access("0.2", line, "visit", "spider.py:50 in main") for line in (60, 61))
    one = access("0.1", 22, "Queue.size", "spider.py:35 in visit")
    other = access("0.1", 27, "Queue.take", "spider.py:36 in visit")
    assert [line for line, op, *_ in called(first, one, other, last) if op == ENTER] == [35, 36]


def component(thread, op, function, *stack):
    point = access(thread, 9, function, *stack, "spider.py:50 in main")
    return replace(point, op=op, file="heap.py")


def test_who_let_two_threads_into_an_object_that_is_part_of_another_one():
    push = component("0.1", "write", "Heap._up", "heap.py:7 in Heap.push", "lru.py:30 in Lru.put")
    pop = component("0.2", "write", "Heap.pop", "lru.py:40 in Lru.evict")
    found = called(push, pop)
    assert [(line, what) for line, op, _, what in found if op == ENTER] == [
        (30, "Heap.push"),
        (40, "Heap.pop"),
    ]


def test_that_all_came_in_on_one_line_says_nothing():
    push, pop = (
        component(thread, "write", "Heap.push", "lru.py:30 in Lru.put") for thread in ("0.1", "0.2")
    )
    assert [op for _, op, *_ in called(push, pop)] == ["write"] * 2


def test_threads_that_use_an_object_themselves_say_so_anyway():
    push = component("0.1", "write", "Heap.push")
    pop = component("0.2", "write", "Heap.pop")
    assert [op for _, op, *_ in called(push, pop)] == ["write"] * 2


def test_a_wait_stands_where_the_interrupted_function_calls_it():
    outer = "pool.py:50 in main"
    check = access("0.2", 35, "take", outer)
    wait = replace(
        access("0.2", 9, "pause", "spider.py:36 in take", outer), op="release", text="c.wait()"
    )
    other, last = access("0.1", 29, "give"), access("0.2", 37, "take", outer)
    shown = with_calls((check, wait, other, last), lambda _file, line: TEXTS.get(line, ""))
    lifted = shown[1]
    assert (lifted.line, lifted.function, lifted.awaits, lifted.stack) == (
        36,
        "take",
        "pause",
        (outer,),
    )
    assert gives_back(lifted)
    assert [one.op for one in shown] == ["read", "release", "read", "read"]


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
