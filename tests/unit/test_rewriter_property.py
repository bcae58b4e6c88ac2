# SPDX-License-Identifier: Apache-2.0
"""Rewritten programs do what they did: small programs made up by Hypothesis, run both ways."""

import re
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unsnarl import _core
from unsnarl.probes.python.rewriter import ModuleInfo, rewrite

pytestmark = pytest.mark.core

PRELUDE = """
import heapq, sys
from collections import deque, defaultdict
total = 0
log = []
class Thing:
    def __init__(self, n=0):
        self.n = n
        self.items = [n, n + 1]
        self.table = {n: 1}
    def bump(self, by=1):
        self.n += by
        return self.n
    def __enter__(self):
        log.append('enter')
        return self
    def __exit__(self, *exc):
        log.append('exit')
        return exc[0] is KeyError
    def __repr__(self):
        return 'a thing'  # an address, letter by letter, would differ
def gen(n):
    for i in range(n):
        got = yield i
        if got:
            log.append(got)
"""

NAMES = st.sampled_from(["a", "b", "c", "cell"])
ATOMS = st.one_of(
    NAMES,
    st.integers(-3, 300).map(str),
    st.sampled_from(["t", "xs", "d", "t.n", "t.items", "t.table", "total", "'s'", "()"]),
)


def _compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    two, three = st.tuples(inner, inner), st.tuples(inner, inner, inner)
    return st.one_of(
        two.map(lambda p: f"({p[0]} + {p[1]})"),
        two.map(lambda p: f"[{p[0]}, {p[1]}]"),
        two.map(lambda p: f"{{{p[0]}: {p[1]}}}" if p[0] in "abc" else f"({p[0]}, {p[1]})"),
        three.map(lambda p: f"({p[0]} if {p[1]} else {p[2]})"),
        two.map(lambda p: f"({p[0]} and not {p[1]})"),
        two.map(lambda p: f"({p[0]} in {p[1]})"),
        two.map(lambda p: f"({p[0]} == {p[1]})"),
        two.map(lambda p: f"{p[0]}[{p[1]}]"),
        inner.map(lambda e: f"xs[{e}:]"),
        inner.map(lambda e: f"d.get({e}, t.n)"),
        inner.map(lambda e: f"t.bump({e})"),
        inner.map(lambda e: f"t.bump(by={e})"),
        inner.map(lambda e: f"len({e})"),
        inner.map(lambda e: f"sorted({e})"),
        inner.map(lambda e: f"list(reversed([{e}]))"),
        inner.map(lambda e: f"[y for y in [{e}, 1] if y]"),
        inner.map(lambda e: f"{{y: t.n for y in (1, {e})}}"),
        inner.map(lambda e: f"sum(y for y in xs if y != {e})"),
        NAMES.map(lambda e: f"f'{{{e}}}'"),
        inner.map(lambda e: f"(lambda q=0: (q, cell, {e}))()"),
        inner.map(lambda e: f"next(iter([{e}]))"),
        inner.map(lambda e: f"max(*[{e}], 1)"),
    )


EXPRESSIONS = st.recursive(ATOMS, _compound, max_leaves=6)
SIMPLE = st.one_of(
    st.tuples(NAMES, EXPRESSIONS).map(lambda p: f"{p[0]} = {p[1]}"),
    st.tuples(NAMES, EXPRESSIONS).map(lambda p: f"{p[0]} += {p[1]}"),
    EXPRESSIONS.map(lambda e: f"t.n = {e}"),
    EXPRESSIONS.map(lambda e: f"t.n += {e}"),
    EXPRESSIONS.map(lambda e: f"d[a] = {e}"),
    EXPRESSIONS.map(lambda e: f"xs[0:1] = [{e}]"),
    EXPRESSIONS.map(lambda e: f"t.items += [{e}]"),
    EXPRESSIONS.map(lambda e: f"xs.append({e})"),
    EXPRESSIONS.map(lambda e: f"d.setdefault({e}, []).append(t.n)"),
    EXPRESSIONS.map(lambda e: f"heapq.heappush(xs, {e})"),
    EXPRESSIONS.map(lambda e: f"a, *b = {e}"),
    EXPRESSIONS.map(lambda e: f"a, b = {e}, t"),
    EXPRESSIONS.map(lambda e: f"log.append({e})"),
    EXPRESSIONS.map(lambda e: f"total = {e}"),
    EXPRESSIONS.map(lambda e: f"yield {e}"),
    st.just("yield from gen(2)"),
    st.just("total += 1"),
    st.just("del d[a]"),
    st.just("del t.n"),
    st.just("raise KeyError(a)"),
    st.just("call_nested()"),
)


def _indented(lines: list[str]) -> str:
    return textwrap.indent("\n".join(lines), "    ")


def _block(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    body = st.lists(inner, min_size=1, max_size=3).map(_indented)
    return st.one_of(
        st.tuples(EXPRESSIONS, body, body).map(lambda p: f"if {p[0]}:\n{p[1]}\nelse:\n{p[2]}"),
        st.tuples(EXPRESSIONS, body).map(lambda p: f"for a in list({p[0]})[:3]:\n{p[1]}"),
        body.map(lambda b: f"for i in range(2):\n{b}\nelse:\n    log.append(i)"),
        body.map(lambda b: f"for c in xs[:2]:\n{b}\n    if t.n: continue\n    break"),
        body.map(lambda b: f"k = 2\nwhile k:\n    k -= 1\n{b}"),
        st.tuples(body, body).map(
            lambda p: (
                f"try:\n{p[0]}\nexcept (TypeError, KeyError) as e:\n{p[1]}\n"
                "finally:\n    log.append('f')"
            )
        ),
        st.tuples(body, body).map(
            lambda p: (
                f"try:\n{p[0]}\nexcept KeyError:\n{p[1]}\n    raise\n"
                "except TypeError as e:\n    raise ValueError(a) from e"
            )
        ),
        st.tuples(body, body).map(
            lambda p: (
                f"try:\n{p[0]}\nexcept:\n    log.append(repr(sys.exc_info()[1]))\n{p[1]}\n"
                "else:\n    log.append('else')"
            )
        ),
        body.map(lambda b: f"for c in xs[:2]:\n    try:\n{_indented([b])}\n    finally: continue"),
        body.map(lambda b: f"with t as b:\n{b}"),
        st.tuples(EXPRESSIONS, body).map(
            lambda p: (
                f"match {p[0]}:\n    case [x, *_]:\n        log.append(x)\n"
                f"    case {{1: x}} | (str() as x):\n        log.append(x)\n"
                f"    case _:\n{textwrap.indent(p[1], '    ')}"
            )
        ),
    )


STATEMENTS = st.recursive(SIMPLE, _block, max_leaves=8)


def program(statements: list[str]) -> str:
    return (
        PRELUDE
        + "def f(t, xs, d, a, b, c):\n    global total\n    cell = 1\n"
        + "    def call_nested():\n        nonlocal cell\n        cell += 1\n"
        + "        log.append(cell)\n"
        + _indented(statements)
        + "\n    yield (a, b, c, cell)\n"
    )


def behaviour(source: str, rewritten: bool, **told: bool) -> tuple[Any, ...]:
    code = compile(source, "<made up>", "exec")
    if rewritten:
        code = rewrite(code, ModuleInfo("m", "<made up>", is_main=len(source) % 2 == 0, **told))
    names: dict[str, Any] = {"__name__": "m"}
    exec(code, names)
    thing, values, table = names["Thing"](1), [3, 1, 2], {1: [2], "s": 0}
    out: list[Any] = []
    error = None
    try:
        out.extend(repr(value)[:200] for value in names["f"](thing, values, table, 1, 2, 3))
    except Exception as raised:
        error = tuple(_described(raised))
    state = repr((vars(thing), values, table, names["log"], names["total"]))
    return out, error, _without_addresses(state)


def _described(raised: BaseException | None, depth: int = 0) -> Iterator[Any]:
    """An exception, its traceback, and those behind it."""
    while raised is not None and depth < 5:
        trace, lines = raised.__traceback__, []
        while trace:
            lines.append((trace.tb_lineno, trace.tb_frame.f_code.co_name))
            trace = trace.tb_next
        yield type(raised), str(raised), lines[depth == 0 :], raised.__cause__ is None
        raised, depth = raised.__context__, depth + 1


def _without_addresses(text: str) -> str:
    return re.sub(r"0x[0-9a-f]+", "0x", text)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(STATEMENTS, min_size=1, max_size=6), st.booleans(), st.booleans())
def test_rewritten_programs_behave_the_same(
    statements: list[str], branches: bool, loops: bool
) -> None:
    source = program(statements)
    out, error, state = behaviour(source, False)
    new_out, new_error, new_state = behaviour(source, True, branches=branches, loops=loops)
    clean = [_without_addresses(text) for text in out]
    assert [_without_addresses(text) for text in new_out] == clean
    assert _without_addresses(repr(new_error)) == _without_addresses(repr(error))
    assert new_state == state


def test_the_programs_are_not_all_trivial() -> None:
    """Guards the test above: most programs must get probes, and many must run to their end."""
    ends = 0
    for statements in (["t.n += 1", "d[a] = xs"], ["for a in list(xs)[:3]:\n    t.bump(a)"]):
        source = program(statements)
        code = rewrite(compile(source, "<made up>", "exec"), ModuleInfo("m", "<made up>"))
        function = next(c for c in code.co_consts if getattr(c, "co_name", "") == "f")
        assert any(isinstance(const, _core.Site) for const in function.co_consts)
        ends += behaviour(source, True)[1] is None
    assert ends == 2
