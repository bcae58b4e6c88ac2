# SPDX-License-Identifier: Apache-2.0
"""What a simple test of one value comes to, as far as the value's text says.

Values are texts (`None`, `3`, `<Session>`, `<list of 2>`), long ones cut: `6978162…`.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable
from typing import Any

COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
SIZED = re.compile(r"<[\w.]+ of (\d+)>")
CUT = re.compile(r"(-?\d{6,})…")  # of a number the sign and its size are still known
OBJECT = object()


def is_same_for(test: ast.expr, is_it: Callable[[ast.expr], bool], values: Iterable[str]) -> bool:
    """Whether a test of what `is_it` finds has one outcome, which is known, for all values."""
    outcomes = {_outcome(test, is_it, value) for value in values}
    return len(outcomes) == 1 and outcomes != {None}


def _outcome(test: ast.expr, is_it: Callable[[ast.expr], bool], text: str) -> bool | None:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _outcome(test.operand, is_it, text)
        return None if inner is None else not inner
    if is_it(test):
        return _truth(text)
    match test:
        case ast.Compare(left=left, ops=[op], comparators=[ast.Constant(value=other)]):
            return _compared(op, text, other) if is_it(left) else None
    return None


def _truth(text: str) -> bool | None:
    sized = SIZED.fullmatch(text)
    if sized:
        return sized[1] != "0"
    value = _value(text)
    return None if value is OBJECT else bool(value)


def _compared(op: ast.cmpop, text: str, other: object) -> bool | None:
    """Also that an object is not None: an object of a class may say that it equals anything."""
    value, compare = _value(text), COMPARED.get(type(op))
    is_identity = isinstance(op, ast.Is | ast.IsNot)
    if compare is None or (value is OBJECT and not (is_identity and other is None)):
        return None
    if is_identity and other is not None:
        return None
    try:
        return bool(compare(value, other))
    except TypeError:
        return None


def _value(text: str) -> object:
    cut = CUT.fullmatch(text)
    try:
        return ast.literal_eval(cut[1] if cut else text)
    except (ValueError, SyntaxError):
        return OBJECT
