# SPDX-License-Identifier: Apache-2.0
"""Integers that remember how they came about.

A symbol stands for what a shared read returned when the run was recorded, which nobody knows. It is
an int all the same: code that is not ours (indexing, formatting, hashing) gets the number that this
run has in its place. What is computed from symbols in the target's own code is an expression of
them, kept as SMT-LIB text: no solver is loaded into the target's process.

Some things get lost, and go on as plain numbers: `True + symbol`, because bool's addition is asked
first; floats; `|`, `^` and `&` of numbers; a symbol as divisor or exponent; numbers of a thousand
digits.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, SupportsIndex

# Decides a test: (condition, what it is with this run's numbers) -> what it was when recorded.
Decide = Callable[["Symbolic"], bool]
# A text that is longer gets a name: `x = x + x`, said often, would double it each time.
MOST_TEXT = 500
# The interpreter refuses to write out numbers that are much longer (sys.set_int_max_str_digits).
MOST_BITS = 2000
MOST_POWER = 8


class Deciding:
    """Who is asked for the outcomes of tests and for names of texts; set by the hooks of a run."""

    decide: Decide = staticmethod(lambda symbolic: symbolic.number != 0)
    name: Callable[[str], str] = staticmethod(lambda text: text)


class Symbolic(int):
    """A number of this run, and the expression that it stands for.

    Attributes:
        text: The expression, an integer.
        condition: The same as a condition.
        is_bool: Whether the program takes it for True or False.
    """

    text: str
    condition: str
    is_bool: bool

    def __new__(
        cls, number: int, text: str, condition: str = "", *, is_bool: bool = False
    ) -> Symbolic:
        """Not by int's own: the number alone would lose its text."""
        made = int.__new__(cls, number)
        made.text = text if len(text) <= MOST_TEXT else Deciding.name(text)
        # The text has a name by now, and says the same.
        if len(condition) > MOST_TEXT:
            condition = ""
        made.condition = condition or f"(not (= {made.text} 0))"
        made.is_bool = is_bool
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
        return self._divided("div", int.__floordiv__, other)

    def __mod__(self, other: Any) -> Any:
        return self._divided("mod", int.__mod__, other)

    def __divmod__(self, other: Any) -> Any:
        return (self // other, self % other) if isinstance(other, int) else NotImplemented

    def _divided(self, word: str, plain: Callable[[Any, Any], Any], other: Any) -> Any:
        """SMT-LIB rounds as Python does only where the divisor is positive."""
        if type(other) is not int or not other or not _has_text(other):
            return plain(self, other)
        number, sign = plain(self, other), 1 if other > 0 else -1
        if sign < 0:  # a // -b is -a // b, and a % -b is -(-a % b)
            divided = f"({word} (- {self.text}) {-other})"
            return Symbolic(number, divided if word == "div" else f"(- {divided})")
        return Symbolic(number, f"({word} {self.text} {other})")

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if type(other) is not int or not 0 <= other <= MOST_POWER or modulus is not None:
            return int.__pow__(self, other, modulus)
        found: Any = 1
        for _ in range(other):
            found = found * self
        return found

    def __and__(self, other: Any) -> Any:
        if type(other) is int and other >= 0 and not other & (other + 1) and _has_text(other):
            return Symbolic(int.__and__(self, other), f"(mod {self.text} {other + 1})")  # low bits
        return _logical("and", int.__and__, self, other)

    def __or__(self, other: Any) -> Any:
        return _logical("or", int.__or__, self, other)

    def __xor__(self, other: Any) -> Any:
        return _logical("xor", int.__xor__, self, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __lshift__(self, other: Any) -> Any:
        return self * (1 << other) if _is_shift(other) else int.__lshift__(self, other)

    def __rshift__(self, other: Any) -> Any:
        return self // (1 << other) if _is_shift(other) else int.__rshift__(self, other)

    def __invert__(self) -> Symbolic:
        return Symbolic(int.__invert__(self), f"(- (- {self.text}) 1)")

    def __neg__(self) -> Symbolic:
        return Symbolic(int.__neg__(self), f"(- {self.text})")

    def __pos__(self) -> Symbolic:
        # Of True it is 1.
        return Symbolic(self.number, self.text, self.condition)

    def __abs__(self) -> Symbolic:
        return Symbolic(int.__abs__(self), f"(abs {self.text})")

    def __round__(self, digits: SupportsIndex | None = None, /) -> Any:
        if digits is not None and operator.index(digits) < 0:
            return int.__round__(self, digits)
        return +self

    __floor__ = __ceil__ = __trunc__ = __pos__

    def __repr__(self) -> str:
        return repr(self.number != 0) if self.is_bool else int.__repr__(self)

    def __format__(self, how: str) -> str:
        return int.__format__(self, how) if how else repr(self)

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

    # A class that defines __eq__ loses the hash it would inherit.
    __hash__ = int.__hash__


def is_number(value: object) -> bool:
    """Whether it has a text: an integer that is not too long."""
    return type(value) is Symbolic or (type(value) in (int, bool) and _has_text(value))


def text_of(value: int) -> str:
    """A number or a symbol as SMT-LIB text."""
    if isinstance(value, Symbolic):
        return value.text
    number = int(value)
    return str(number) if number >= 0 else f"(- {-number})"


def _has_text(value: Any) -> bool:
    return isinstance(value, Symbolic) or value.bit_length() <= MOST_BITS


def _is_shift(value: object) -> bool:
    return type(value) is int and 0 <= value < 64


def _joined(word: str, plain: Callable[[Any, Any], Any], one: Any, other: Any) -> Any:
    number = plain(one, other) if isinstance(one, int) else NotImplemented
    if number is NotImplemented or not (_has_text(one) and _has_text(other)):
        return number  # a float, or what else: with this run's number
    return Symbolic(number, f"({word} {text_of(one)} {text_of(other)})")


def _compared(word: str, plain: Callable[[Any, Any], Any], one: Symbolic, other: Any) -> Any:
    outcome = plain(one, other)
    if outcome is NotImplemented or not _has_text(other):
        return outcome
    return _truth(outcome, f"({word} {text_of(one)} {text_of(other)})")


def _logical(word: str, plain: Callable[[Any, Any], Any], one: Symbolic, other: Any) -> Any:
    """`&`, `|` and `^`: of truths only."""
    outcome = plain(one, other)
    are_truths = other.is_bool if isinstance(other, Symbolic) else type(other) is bool
    if not (one.is_bool and are_truths):
        return outcome
    right = other.condition if isinstance(other, Symbolic) else str(other).lower()
    return _truth(outcome, f"({word} {one.condition} {right})")


def _truth(outcome: int, condition: str) -> Symbolic:
    return Symbolic(outcome, f"(ite {condition} 1 0)", condition, is_bool=True)
