# SPDX-License-Identifier: Apache-2.0
"""What functions do with what they read: lines marked A and B are two accesses of `self.x`."""

from textwrap import dedent, indent

import pytest

from unsnarl.model.report import FindingPoint
from unsnarl.reports.program_text import ProgramText


def accesses(source, variable="C.x"):
    """The code of a function, and its two marked accesses; one line may have both marks."""
    body = dedent(source).strip("\n")
    text = f"def f(self):\n{indent(body, '    ')}\n"
    rows = text.splitlines()
    found = []
    for mark in "AB":
        line = next(at for at, row in enumerate(rows, 1) if f"#{mark}" in row or "#AB" in row)
        point = FindingPoint("m.py", line, "f", "0.1", 1, "read", variable, "body", 1.0)
        found.append(point)
    return ProgramText(lambda _: text), *found


DECIDES = [
    """
    for _ in range(self.wanted - len(self.x)):  #A
        self.x.append(1)  #B
    """,
    """
    if self.x:  #A
        self.x.go()  #B
    """,
    """
    if not self.x:  #A
        return
    self.x.go()  #B
    """,
    """
    one = self.x  #A
    log(one)
    if one is None:
        self.x = One()  #B
    """,
    """
    one = self.x.get(1)  #A
    if one is None:
        one = One()
    self.x[1] = one  #B
    """,
    """
    try:
        return self.x[1]  #A
    except KeyError:
        self.x[1] = 2  #B
    """,
    """
    try:
        with self.lock:
            return self.x[1]  #A
    except KeyError:
        pass
    with self.lock:
        self.x[1] = make()  #B
    """,
    """
    while not self.x:  #A
        self.changed.wait()
    self.x.pop()  #B
    """,
    """
    if not self.x:  #A
        self.changed.wait()
    self.x.pop()  #B
    """,
    """
    return self.x and self.x.value  #AB
    """,
    """
    return self.x.value if self.x else 0  #AB
    """,
    """
    while len(self.x) > 3:  #A
        self.x.pop()  #B
    """,
    """
    size = len(self.x)  #A
    room = size < 3
    assert room
    self.x.append(1)  #B
    """,
]
NOT_DECIDES = [
    """
    n = len(self.x)  #A
    self.x.append(n)  #B
    """,
    """
    if self.y:
        n = self.x  #A
        self.x = n + 1  #B
    """,
    """
    n = self.x  #A
    if n:
        log(n)
    n = 2
    self.x = 3  #B
    """,
    """
    self.x = self.x + 1  #AB
    """,
]


@pytest.mark.parametrize("source", DECIDES)
def test_what_was_read_decides(source):
    code, one, other = accesses(source)
    assert code.decides(one, other)


@pytest.mark.parametrize("source", NOT_DECIDES)
def test_what_was_read_does_not_decide(source):
    code, one, other = accesses(source)
    assert not code.decides(one, other)


@pytest.mark.parametrize("test", ["self.x[-1].time < now", "not self.x"])
def test_what_was_seen_before_had_decided(test):
    source = f"if {test}:\n    n = len(self.x)  #A\n    del self.x[:]  #B"
    code, one, other = accesses(source)
    assert code.had_decided(one, other)
    assert not code.decides(one, other)
    code, one, other = accesses(source.replace("self.x[", "self.y[").replace("t self.x", "t y"))
    assert code.had_decided(one, other) is False


COMPUTES = [
    "self.x += 1  #AB",
    "self.x = self.x + 1  #AB",
    """
    n = self.x  #A
    n = n + 1
    self.x = n  #B
    """,
    """
    n = self.x.get(1)  #A
    if n is None:
        n = 0
    self.x[1] = n + 1  #B
    """,
    """
    old = self.x.swap(0)  #A
    work()
    self.x.swap(old)  #B
    """,
]
NOT_COMPUTES = [
    """
    n = self.x  #A
    self.x = 2  #B
    """,
    """
    n = self.x  #A
    n = 3
    self.x = n  #B
    """,
    """
    one = self.x.get(1)  #A
    if one is None:
        one = One()
    self.x[1] = one  #B
    """,
]


@pytest.mark.parametrize("source", COMPUTES)
def test_what_is_stored_comes_from_what_was_read(source):
    code, one, other = accesses(source)
    assert code.computes(one, other)


@pytest.mark.parametrize("source", NOT_COMPUTES)
def test_what_is_stored_is_new(source):
    code, one, other = accesses(source)
    assert not code.computes(one, other)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("for one in self.x:  #A\n    one.go()  #B", True),
        ("for one in self.x.values():  #AB\n    one.go()", True),
        ("return [one for one in self.x]  #AB", True),
        ("return sum(self.x)  #AB", True),
        ("for one in list(self.x):  #A\n    one.go()  #B", False),
        ("for one in self.y:  #A\n    self.x.go()  #B", False),
        ("for _ in range(len(self.x)):  #A\n    self.x.go()  #B", False),
        ("self.x.go()  #A\nself.x.go()  #B", False),
    ],
)
def test_what_goes_through_a_container(source, expected):
    code, one, other = accesses(source)
    assert code.iterates(one, other) is expected


def test_the_caller_of_two_functions_decides():
    text = "def run(q):\n    if q.size() > 0:\n        q.take()\n"
    shown = {"file": "m.py", "thread": "0.1", "role": 1, "op": "read", "variable": "Q.n"}
    size = FindingPoint(
        line=20, function="Q.size", region="body", confidence=1.0, stack=("m.py:2 in run",), **shown
    )
    take = FindingPoint(
        line=30, function="Q.take", region="body", confidence=1.0, stack=("m.py:3 in run",), **shown
    )
    assert ProgramText(lambda _: text).decides(size, take)
    assert not ProgramText(lambda _: "def run(q):\n    q.size()\n    q.take()\n").decides(
        size, take
    )


def test_of_what_is_no_python_only_the_line_is_asked():
    check = FindingPoint(
        "m.c", 3, "f", "0.1", 1, "read", "queue", "body", 1.0, text="if (queue->n > 0) {"
    )
    act = FindingPoint("m.c", 4, "f", "0.1", 1, "read", "queue", "body", 1.0, text="take(queue);")
    assert ProgramText(lambda _: "").decides(check, act)
    assert not ProgramText(lambda _: "").decides(act, check)


def test_behind_a_look_up_whose_success_leaves_nothing_was_found():
    text, one, other = accesses(
        """
        try:
            found = self.x[key]  #A
        except KeyError:
            pass
        else:
            return found
        self.x.pop(key)  #B
        """
    )
    assert text.decides(one, other)
    text, one, other = accesses(
        """
        try:
            found = self.x[key]  #A
        except KeyError:
            pass
        else:
            log(found)
        self.x.pop(key)  #B
        """
    )
    assert not text.decides(one, other)
