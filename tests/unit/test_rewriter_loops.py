# SPDX-License-Identifier: Apache-2.0
"""Probes where loops go back: made-up programs whose loops are counted as they are made up."""

from __future__ import annotations

import sys
import textwrap
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unsnarl.probes.python.rewriter import ModuleInfo, plan, rewrite
from unsnarl.probes.python.rewriter.kinds import ASKS_NONE, BACK, TAKEN_IF

pytestmark = pytest.mark.core


class Counting:
    """Makes sites that count how often a loop goes back, as native/binding/site.c decides it."""

    def __init__(self) -> None:
        self.backs = 0

    def site(self, kind: int, id: int, name: str, flags: int) -> Any:
        return Site(self, kind, flags)


class Site:
    def __init__(self, count: Counting, kind: int, flags: int) -> None:
        self.count, self.kind, self.flags = count, kind, flags

    def __delitem__(self, asked: Any) -> None:
        is_so = asked is None if self.flags & ASKS_NONE else bool(asked)
        if self.kind == BACK and (asked is self or is_so == bool(self.flags & TAKEN_IF)):
            self.count.backs += 1

    def __setitem__(self, key: Any, container: Any) -> None:
        pass


def backs(source: str) -> int:
    """How often loops go back in a call of f()."""
    count = Counting()
    code = compile(textwrap.dedent(source), "subject.py", "exec")
    names: dict[str, Any] = {"__name__": "subject"}
    exec(rewrite(code, ModuleInfo("subject", "subject.py", loops=True), count.site), names)
    names["f"]()
    return count.backs


# Up to 3.13 the compiler puts the test of a `while` at its end as well, and goes back only if it
# holds; from 3.14 on the end goes back to the one test.
TESTED_AT_THE_END = sys.version_info < (3, 14)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("for _ in range(3): pass", 3),
        ("for _ in (): pass", 0),
        ("i = 3\nwhile i: i -= 1", 3 - TESTED_AT_THE_END),
        ("rest = iter((1, 2, None))\nwhile next(rest) is not None: pass", 2 - TESTED_AT_THE_END),
        ("rest = iter((None, None, 1))\nwhile next(rest) is None: pass", 2 - TESTED_AT_THE_END),
        ("rest = iter((0, 0, 1))\nwhile not next(rest): pass", 2 - TESTED_AT_THE_END),
        ("i = 0\nwhile True:\n    i += 1\n    if i == 3: break", 2),
        ("for i in range(4):\n    if i % 2: continue\n    str(i)", 4),
        ("for _ in range(2):\n    for _ in range(3): pass\n    else: str()", 2 + 2 * 3),
        ("[i for i in range(3) if i]", 3),
        ("{i: j for i in range(2) for j in range(3)}", 2 + 2 * 3),
        ("sum(i for i in range(3))", 3),
        ("def g():\n    yield from range(3)\nlist(g())", 0),
        ("try:\n    1 / 0\nexcept ZeroDivisionError:\n    str()\nstr()", 0),
        ("for i in (0, 1):\n    try:\n        1 / i\n    except ZeroDivisionError:\n"
         "        str()\n    str()", 2),
        ("for i in (0, 1):\n    with open('/dev/null'):\n        continue", 2),
        ("def g(n):\n    for _ in range(2):\n        if n: g(n - 1)\ng(2)", 2 * 7),
    ],
)  # fmt: skip
def test_how_often_a_loop_goes_back(body, wanted):
    assert backs("def f():\n" + textwrap.indent(body, "    ")) == wanted


def test_probes_are_only_where_they_are_asked_for():
    code = compile("for i in range(3): pass", "subject.py", "exec")
    for loops in (False, True):
        info = ModuleInfo("subject", "subject.py", loops=loops)
        kinds = [probe.kind for probes in plan(code, info).values() for probe in probes]
        assert (BACK in kinds) == loops


TURNS = st.integers(0, 3)


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


@st.composite
def statements(draw: st.DrawFn, depth: int = 3) -> tuple[list[str], int]:
    """Lines, and how often their loops go back."""
    lines, total = ["seen.append(1)"], 0
    for number in range(draw(st.integers(0, 2)) if depth else 0):
        kind = draw(st.sampled_from(["for", "while", "forever", "if", "try", "caught"]))
        body, inner = draw(statements(depth - 1))
        made, found = SHAPES[kind](f"v{depth}{number}", draw(TURNS), indented(body), inner)
        lines, total = lines + made, total + found
    return lines, total


def _for(name, turns, body, inner):
    return [f"for {name} in range({turns}):", *body], turns * (inner + 1)


def _while(name, turns, body, inner):
    """Up to 3.13 tested at the end of each turn as well: the last one does not go back."""
    lines = [f"{name} = {turns}", f"while {name} > 0:", *body, f"    {name} -= 1"]
    return lines, turns * inner + max(turns - TESTED_AT_THE_END, 0)


def _forever(name, turns, body, inner):
    lines = [f"{name} = {turns}", "while True:", *body, f"    if {name} <= 0: break",
             f"    {name} -= 1"]  # fmt: skip
    return lines, (turns + 1) * inner + turns


def _if(name, turns, body, inner):
    return [f"if {turns}:", *body, "else:", "    seen.append(2)"], inner if turns else 0


def _try(name, turns, body, inner):
    return ["try:", *body, "finally:", "    seen.append(3)"], inner


def _caught(name, turns, body, inner):
    lines = ["try:", *body, "    raise ValueError", "except ValueError:", "    seen.append(4)"]
    return lines, inner


SHAPES = {
    "for": _for,
    "while": _while,
    "forever": _forever,
    "if": _if,
    "try": _try,
    "caught": _caught,
}


@given(statements())
def test_loops_of_made_up_programs(made):
    lines, wanted = made
    source = "\n".join(["def f():", "    seen = []", *indented(lines)])
    assert backs(source) == wanted, source
