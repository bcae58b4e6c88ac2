# SPDX-License-Identifier: Apache-2.0
"""Symbols: whatever is computed from them, its text says the same of the true numbers."""

from __future__ import annotations

import operator

from hypothesis import given
from hypothesis import strategies as st
from tests.smt_text import evaluate

from unsnarl.probes.python.following.symbols import Deciding, Symbolic, text_of

NAMES = ("r0_0", "r1_0", "r2_0_1")
NUMBERS = st.integers(-50, 50)
BINARY = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": lambda a, b: a // (abs(int(b)) % 7 + 1),
    "%": lambda a, b: a % (abs(int(b)) % 7 + 1),
    "&": lambda a, b: a & 7,
    "<<": lambda a, b: a << 2,
    ">>": lambda a, b: a >> 1,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
# Divisors are this run's numbers, which are no part of the expression.
EXACT = tuple(word for word in BINARY if word not in ("//", "%"))
LEAVES = st.sampled_from(NAMES) | NUMBERS
TERMS = st.recursive(
    LEAVES,
    lambda inner: (
        st.tuples(st.sampled_from(EXACT), inner, inner)
        | st.tuples(st.sampled_from(("neg", "abs")), inner)
    ),
    max_leaves=12,
)


def computed(term, values):
    if isinstance(term, str):
        return values[term]
    if isinstance(term, int):
        return term
    word, *parts = term
    found = [computed(part, values) for part in parts]
    if word in ("neg", "abs"):
        return -found[0] if word == "neg" else abs(found[0])
    result = BINARY[word](*found)
    # True + symbol is beyond us: bool's own addition comes first, and knows no symbols.
    return int(result) if isinstance(result, bool) else result


@given(TERMS, st.tuples(*[NUMBERS] * 3), st.tuples(*[NUMBERS] * 3))
def test_a_text_says_what_was_computed(term, shown, true):
    symbols = {n: Symbolic(v, n) for n, v in zip(NAMES, shown, strict=True)}
    found = computed(term, symbols)
    truth = dict(zip(NAMES, true, strict=True))
    assert int(found) == int(computed(term, dict(zip(NAMES, shown, strict=True))))
    assert evaluate(text_of(found), truth) == int(computed(term, truth))


@given(st.integers(-40, 40), st.integers(-40, 40), st.integers(1, 9))
def test_division_rounds_as_python_does(shown, true, divisor):
    symbol = Symbolic(shown, "r0_0")
    assert evaluate((symbol // divisor).text, {"r0_0": true}) == true // divisor
    assert evaluate((symbol % divisor).text, {"r0_0": true}) == true % divisor


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
