# SPDX-License-Identifier: Apache-2.0
"""What SMT-LIB text says of given numbers: a few lines that share nothing with any solver."""

from __future__ import annotations

import operator
import re
from functools import reduce
from itertools import pairwise

COMPARED = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "distinct": operator.ne,
}
JOINED = {
    "+": operator.add,
    "*": operator.mul,
    "div": operator.floordiv,
    "mod": operator.mod,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "xor": operator.xor,
}


def evaluate(text, values):
    """The value of a term under `values`, by symbol."""
    term, rest = _parse(re.findall(r"[()]|[^\s()]+", text))
    assert not rest
    return _value(term, values)


def _parse(words):
    head, *rest = words
    if head != "(":
        return head, rest
    terms = []
    while rest[0] != ")":
        term, rest = _parse(rest)
        terms.append(term)
    return terms, rest[1:]


def _value(term, values):
    if isinstance(term, str):
        known = {"true": True, "false": False, **values}
        return int(term) if term.isdecimal() else known[term]
    word, *terms = term
    if word == "ite":
        return _value(terms[1] if _value(terms[0], values) else terms[2], values)
    found = [_value(one, values) for one in terms]
    if word in ("div", "mod"):
        assert found[1] > 0, "only then SMT-LIB rounds as Python does"
    if word == "-":
        return -found[0] if len(found) == 1 else reduce(operator.sub, found)
    if word in ("not", "abs"):
        return abs(found[0]) if word == "abs" else not found[0]
    if word in COMPARED:
        return all(COMPARED[word](a, b) for a, b in pairwise(found))
    return reduce(JOINED[word], found)
