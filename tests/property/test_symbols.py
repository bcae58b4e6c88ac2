# SPDX-License-Identifier: Apache-2.0
"""Symbols: whatever is computed from them, its text says the same of the true numbers."""

from __future__ import annotations

import math
import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.smt_text import evaluate

from unsnarl.probes.python.following.symbols import (
    MOST_BITS,
    MOST_TEXT,
    Deciding,
    Symbolic,
    is_number,
    text_of,
)

NAMES = ("r0_0", "r1_0", "r2_0_1")
NUMBERS = st.integers(-50, 50)
CONSTANTS = st.integers(-9, 9).filter(bool)
BINARY = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
# With a constant on the right: the number of a symbol there would be no part of the expression.
BY_CONSTANT = {
    "//": operator.floordiv,
    "%": operator.mod,
    "divmod": lambda a, b: sum(divmod(a, b)),
    "**": lambda a, b: a ** (abs(b) % 3),
    "& ones": lambda a, b: a & ((1 << abs(b)) - 1),
    "ones &": lambda a, b: ((1 << abs(b)) - 1) & a,
    "<<": lambda a, b: a << abs(b),
    ">>": lambda a, b: a >> abs(b),
}
UNARY = {
    "neg": operator.neg,
    "pos": operator.pos,
    "abs": abs,
    "~": operator.invert,
    "round": round,
    "round 2": lambda a: round(a, 2),
    "floor": math.floor,
}
LOGICAL = {"&": operator.and_, "|": operator.or_, "^": operator.xor}
LEAVES = st.sampled_from(NAMES) | NUMBERS
TERMS = st.recursive(
    LEAVES,
    lambda inner: (
        st.tuples(st.sampled_from(sorted(BINARY)), inner, inner)
        | st.tuples(st.sampled_from(sorted(BY_CONSTANT)), inner, CONSTANTS)
        | st.tuples(st.sampled_from(sorted(UNARY)), inner)
        | st.tuples(st.sampled_from(sorted(LOGICAL)), inner, inner)
    ),
    max_leaves=8,
)
OPERATORS = BINARY | BY_CONSTANT | UNARY


def computed(term, values):
    if isinstance(term, str):
        return values[term]
    if isinstance(term, int):
        return term
    word, *parts = term
    found = [computed(part, values) for part in parts]
    if word in LOGICAL:
        # Of truths: of numbers it is beyond us. The symbol first: bool's own `&` knows none.
        result = LOGICAL[word](found[0] > values[NAMES[0]], found[1] < values[NAMES[1]])
    else:
        result = OPERATORS[word](*found)
    # True + symbol is beyond us: bool's own addition comes first, and knows no symbols.
    return int(result) if isinstance(result, bool) else result


@given(TERMS, st.tuples(*[NUMBERS] * 3), st.tuples(*[NUMBERS] * 3))
def test_a_text_says_what_was_computed(term, shown, true):
    symbols = {n: Symbolic(v, n) for n, v in zip(NAMES, shown, strict=True)}
    found = computed(term, symbols)
    truth = dict(zip(NAMES, true, strict=True))
    assert int(found) == int(computed(term, dict(zip(NAMES, shown, strict=True))))
    assert evaluate(text_of(found), truth) == int(computed(term, truth))


@given(st.integers(-40, 40), st.integers(-40, 40), CONSTANTS)
def test_division_rounds_as_python_does(shown, true, divisor):
    symbol = Symbolic(shown, "r0_0")
    assert evaluate((symbol // divisor).text, {"r0_0": true}) == true // divisor
    assert evaluate((symbol % divisor).text, {"r0_0": true}) == true % divisor


BEYOND = [
    (lambda s: s // 0, ZeroDivisionError),
    (lambda s: s % 0, ZeroDivisionError),
    (lambda s: divmod(s, 0), ZeroDivisionError),
    (lambda s: s << -1, ValueError),
    (lambda s: s >> -1, ValueError),
    (lambda s: s + "x", TypeError),
    (lambda s: s < "x", TypeError),
    (lambda s: divmod(s, "x"), TypeError),
]


@pytest.mark.parametrize("number", [-7, 0, 1250])
@pytest.mark.parametrize(("work", "error"), BEYOND)
def test_what_python_refuses_symbols_refuse(work, error, number):
    for value in (number, Symbolic(number, "r0_0")):
        with pytest.raises(error):
            work(value)


PLAIN = [
    lambda s: round(s, -2),
    lambda s: s**-1 if s else 0,
    lambda s: 2**s if s >= 0 else 0,
    lambda s: pow(s, 3, 7),
    lambda s: s / 4,
    lambda s: s | 5,
    lambda s: 100 // s if s else 0,
    lambda s: s + 0.5,
    lambda s: s << 70,
    lambda s: f"{s} {s:05d} {s!r} {s % 3 == 1}",
    lambda s: [s == 2, s > 1],
    lambda s: (s > 0) + 1,
    lambda s: {s: 1}[s],
    lambda s: list(range(abs(s) % 5)),
    lambda s: s == "x",
    lambda s: s is None,
]


@pytest.mark.parametrize("number", [-7, 0, 12, 1250])
@pytest.mark.parametrize("work", PLAIN)
def test_all_else_goes_on_with_this_runs_number(work, number):
    assert repr(work(Symbolic(number, "r0_0"))) == repr(work(number))


@given(st.integers(-3, 3), st.lists(st.integers(0, 1), min_size=40, max_size=80))
def test_long_texts_get_names_and_say_the_same(true, steps):
    """`x = x + x` doubles what it stands for each time."""
    names = {}

    def name(text):
        names[f"n{len(names)}_0"] = text
        return f"n{len(names) - 1}_0"

    before, Deciding.name = Deciding.name, staticmethod(name)
    try:
        symbol, number = Symbolic(0, "r0_0"), true
        for doubles in steps:
            symbol = symbol + symbol if doubles else symbol * 3 - 1
            number = number + number if doubles else number * 3 - 1
    finally:
        Deciding.name = staticmethod(before)
    values = {"r0_0": true}
    for short, text in names.items():
        assert len(text) < 3 * MOST_TEXT
        values[short] = evaluate(text, values)
    assert evaluate(symbol.text, values) == number


@pytest.mark.parametrize("bits", [1000, 10_000, 100_000])
def test_numbers_that_cannot_be_written_out_are_plain(bits):
    huge, symbol = 1 << bits, Symbolic(5, "r0_0")
    assert symbol + huge == huge + 5
    assert bool(symbol < huge) and symbol != -huge
    assert is_number(huge) == (bits < MOST_BITS)
    assert symbol // huge == 0 and -symbol // huge == -1


STATEMENTS = st.lists(
    st.tuples(st.sampled_from(("set", "if", "if not")), st.sampled_from(NAMES[:2]), TERMS),
    min_size=1,
    max_size=8,
)


def run(statements, values):
    """A thread's code: assignments, and tests on which some depend. Gives the tests' outcomes."""
    local = dict(values)
    outcomes = []
    for kind, name, term in statements:
        found = computed(term, local)
        if kind == "set":
            local[name] = found
            continue
        # The last one is never assigned: so each test has a symbol in it.
        taken = bool(found + local[NAMES[2]] > 3)
        outcomes.append(taken)
        if taken == (kind == "if"):
            local[name] = found + 1
    return outcomes


@given(STATEMENTS, st.tuples(*[NUMBERS] * 3), st.tuples(*[NUMBERS] * 3))
def test_conditions_along_a_recorded_path_hold_for_what_was_read(statements, true, shown):
    truth = dict(zip(NAMES, true, strict=True))
    recorded = run(statements, truth)
    conditions = []

    def decide(symbolic):
        taken = recorded[len(conditions)]
        conditions.append(symbolic.condition if taken else f"(not {symbolic.condition})")
        return taken

    before = Deciding.decide
    Deciding.decide = staticmethod(decide)
    try:
        followed = run(statements, {n: Symbolic(v, n) for n, v in zip(NAMES, shown, strict=True)})
    finally:
        Deciding.decide = staticmethod(before)
    assert followed == recorded
    assert len(conditions) == len(recorded)
    assert all(evaluate(condition, truth) for condition in conditions)
