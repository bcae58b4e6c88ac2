# SPDX-License-Identifier: Apache-2.0
"""Arguments as texts of source code: from type hints and strategies by Hypothesis, or examples.

A few small values of each type are enough: threads that use the same key meet, and those that use
keys of their own do not. The simplest comes first.
"""

from __future__ import annotations

import ast
import collections.abc
import random
import types
import typing
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisException
from hypothesis.strategies import SearchStrategy

Texts = tuple[str, ...]

MOST_VALUES = 6
EXAMPLES = 30
# One first, which is simpler to a reader: to add 0 shows nothing.
_WHOLE = ("1", "2", "0")
# Small ones: a size or a number of seconds may be meant, and memory and time are short.
SMALL: dict[Any, Texts] = {
    int: _WHOLE,
    float: ("1.0", "0.5", "0.0"),
    str: ("'a'", "'b'"),
    bytes: ("b'a'", "b'b'"),
    bool: ("True", "False"),
    type(None): ("None",),
}
ANYTHING = (None, Any, object, collections.abc.Hashable)
FUNCTIONS = (collections.abc.Callable, types.FunctionType)
FUNCTION = "lambda *_: 1"
PLAIN_MODULES = ("builtins", "collections.abc", "typing")


@cache
def from_hint(hint: Any) -> Texts:
    """Texts of values of a type; none if no text gives such a value."""
    if hint in SMALL:
        return SMALL[hint]
    if hint in ANYTHING or isinstance(hint, typing.TypeVar):
        return _WHOLE
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        # None last: the simplest value of `str | None` is a text.
        parts = sorted(typing.get_args(hint), key=lambda one: one is type(None))
        return tuple(text for one in parts for text in from_hint(one)[:2])
    if origin in FUNCTIONS or hint in FUNCTIONS:
        return (FUNCTION,)
    if origin is typing.Annotated:
        return from_hint(typing.get_args(hint)[0])
    return _from_type(hint)


def _from_type(hint: Any) -> Texts:
    """What Hypothesis makes of a type, if it can be written into a program."""
    if isinstance(hint, type) and hint.__module__ not in PLAIN_MODULES:
        return ()  # an object that Hypothesis makes up is seldom what a method expects
    with suppress(HypothesisException, TypeError, ValueError, NameError):
        return _drawn(st.from_type(hint), repr)
    return ()


def _drawn(strategy: SearchStrategy[Any], text: Callable[[Any], str]) -> Texts:
    """Some values of a strategy that can be written as text, the shortest first."""
    found: dict[str, None] = {}

    def take(value: Any) -> bool:
        if is_literal(text(value)):
            found.setdefault(text(value))
        return len(found) >= MOST_VALUES

    wanted = settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    with suppress(HypothesisException):
        find(strategy, take, settings=wanted, random=random.Random(0))
    return tuple(sorted(found, key=lambda one: (len(one), one)))


def is_literal(text: str) -> bool:
    """Whether a text is a value of the language itself."""
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def from_examples(name: str, examples: Any) -> list[Texts]:
    """Argument lists of a method from the `calls` of a setup file."""
    if isinstance(examples, SearchStrategy):
        drawn = _drawn(examples, lambda one: repr(_as_tuple(one)))
        return [tuple(map(repr, ast.literal_eval(row))) for row in drawn]
    return [
        tuple(
            repr(value) if is_literal(repr(value)) else f"setup.calls[{name!r}][{row}]{at}"
            for at, value in _indexed(example)
        )
        for row, example in enumerate(_rows(examples))
    ] or [()]


def _rows(examples: Any) -> Sequence[Any]:
    return examples if isinstance(examples, (list, tuple)) else list(examples)


def _as_tuple(example: Any) -> tuple[Any, ...]:
    return example if isinstance(example, tuple) else (example,)


def _indexed(example: Any) -> list[tuple[str, Any]]:
    if not isinstance(example, tuple):
        return [("", example)]
    return [(f"[{at}]", value) for at, value in enumerate(example)]
