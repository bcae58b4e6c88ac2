# SPDX-License-Identifier: Apache-2.0
"""Integers that remember how they came about.

A symbol stands for what a shared read returned when the run was recorded, which nobody knows. It is
an int all the same: code that is not ours (indexing, formatting, hashing) gets the number that this
run has in its place. What is computed from symbols in the target's own code is an expression of
them, kept as SMT-LIB text: no solver is loaded into the target's process.

One thing gets lost: `True + symbol` is a plain number, because bool's addition is asked first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, SupportsIndex

# Decides a test: (condition, what it is with this run's numbers) -> what it was when recorded.
Decide = Callable[["Symbolic"], bool]


class Deciding:
    """Who is asked for the outcomes of tests; set by the hooks of a run."""

    decide: Decide = staticmethod(lambda symbolic: symbolic.number != 0)


class Symbolic(int):
    """A number of this run, and the expression that it stands for.

    Attributes:
        text: The expression, an integer.
        condition: The same as a condition, if it is the outcome of a comparison.
    """

    text: str
    condition: str

    def __new__(cls, number: int, text: str, condition: str = "") -> Symbolic:
        """Not by int's own: the number alone would lose its text."""
        made = int.__new__(cls, number)
        made.text = text
        made.condition = condition or f"(not (= {text} 0))"
        return made

    @property
    def number(self) -> int:
        """What it is in this run."""
        return int.__add__(self, 0)

    def __bool__(self) -> bool:
        return Deciding.decide(self)

    def __add__(self, other: Any) -> Any:
        return _joined("+", int.__add__, self, other)

    def __radd__(self, other: Any) -> Any:
        return _joined("+", int.__add__, other, self)

    def __sub__(self, other: Any) -> Any:
        return _joined("-", int.__sub__, self, other)

    def __rsub__(self, other: Any) -> Any:
        return _joined("-", int.__sub__, other, self)

    def __mul__(self, other: Any) -> Any:
        return _joined("*", int.__mul__, self, other)

    def __rmul__(self, other: Any) -> Any:
        return _joined("*", int.__mul__, other, self)

    def __floordiv__(self, other: Any) -> Any:
        # SMT-LIB rounds as Python does only where the divisor is positive.
        return (
            _joined("div", int.__floordiv__, self, other)
            if _is_positive(other)
            else (int.__floordiv__(self, other))
        )

    def __mod__(self, other: Any) -> Any:
        return (
            _joined("mod", int.__mod__, self, other)
            if _is_positive(other)
            else (int.__mod__(self, other))
        )

    def __and__(self, other: Any) -> Any:
        if type(other) is int and other >= 0 and not other & (other + 1):  # the lowest bits
            return Symbolic(int.__and__(self, other), f"(mod {self.text} {other + 1})")
        return int.__and__(self, other)

    def __lshift__(self, other: Any) -> Any:
        return self * (1 << other) if _is_shift(other) else int.__lshift__(self, other)

    def __rshift__(self, other: Any) -> Any:
        return self // (1 << other) if _is_shift(other) else int.__rshift__(self, other)

    def __neg__(self) -> Symbolic:
        return Symbolic(int.__neg__(self), f"(- {self.text})")

    def __pos__(self) -> Symbolic:
        return self

    def __abs__(self) -> Symbolic:
        return Symbolic(int.__abs__(self), f"(abs {self.text})")

    def __round__(self, digits: SupportsIndex = 0, /) -> Symbolic:
        return self

    def __eq__(self, other: object) -> Any:
        return _compared("=", int.__eq__, self, other)

    def __ne__(self, other: object) -> Any:
        return _compared("distinct", int.__ne__, self, other)

    def __lt__(self, other: Any) -> Any:
        return _compared("<", int.__lt__, self, other)

    def __le__(self, other: Any) -> Any:
        return _compared("<=", int.__le__, self, other)

    def __gt__(self, other: Any) -> Any:
        return _compared(">", int.__gt__, self, other)

    def __ge__(self, other: Any) -> Any:
        return _compared(">=", int.__ge__, self, other)

    __hash__ = int.__hash__


def text_of(value: int) -> str:
    """A number or a symbol as SMT-LIB text."""
    if isinstance(value, Symbolic):
        return value.text
    number = int(value)
    return str(number) if number >= 0 else f"(- {-number})"


def _is_positive(value: object) -> bool:
    return type(value) is int and value > 0


def _is_shift(value: object) -> bool:
    return type(value) is int and 0 <= value < 64


def _joined(word: str, plain: Callable[[Any, Any], Any], one: Any, other: Any) -> Any:
    number = plain(one, other) if isinstance(one, int) else NotImplemented
    if number is NotImplemented:
        return number  # a float, or what else: with this run's number
    return Symbolic(number, f"({word} {text_of(one)} {text_of(other)})")


def _compared(word: str, plain: Callable[[Any, Any], Any], one: Symbolic, other: Any) -> Any:
    outcome = plain(one, other)
    if outcome is NotImplemented:
        return outcome
    condition = f"({word} {text_of(one)} {text_of(other)})"
    return Symbolic(outcome, f"(ite {condition} 1 0)", condition)
