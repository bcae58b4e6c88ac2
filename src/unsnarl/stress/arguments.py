# SPDX-License-Identifier: Apache-2.0
"""Arguments as texts of source code, by Hypothesis: from type hints, or from examples.

Values are small, and a program has one or two of each type: threads that use the same key meet, and
those that use keys of their own do not.
"""

from __future__ import annotations

import ast
import collections.abc
import types
import typing
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.errors import HypothesisException
from hypothesis.strategies import SearchStrategy

Texts = SearchStrategy[str]
Arguments = SearchStrategy[tuple[str, ...]]

# One first, which is simpler to a reader: to add 0 shows nothing.
_WHOLE = st.sampled_from(("1", "2", "0", "3"))
# Small ones: a size or a number of seconds may be meant, and memory and time are short.
SMALL: dict[Any, Texts] = {
    int: _WHOLE,
    float: st.sampled_from(("0.0", "0.5", "1.0", "2.0")),
    str: st.sampled_from(("'a'", "'b'", "''")),
    bytes: st.sampled_from((r"b'a'", r"b'b'", r"b''")),
    bool: st.booleans().map(repr),
    type(None): st.just("None"),
}
ANYTHING = (None, Any, object, collections.abc.Hashable)
FUNCTIONS = (collections.abc.Callable, types.FunctionType)
FUNCTION = "lambda *_: 0"


def from_hint(hint: Any) -> Texts | None:
    """Texts of values of a type; None if no text gives such a value."""
    if hint in SMALL:
        return SMALL[hint]
    if hint in ANYTHING or isinstance(hint, typing.TypeVar):
        return _WHOLE
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return _any_of(typing.get_args(hint))
    if origin in FUNCTIONS or hint in FUNCTIONS:
        return st.just(FUNCTION)
    if origin is typing.Annotated:
        return from_hint(typing.get_args(hint)[0])
    return _literals(hint)


def _any_of(hints: Sequence[Any]) -> Texts | None:
    # None last: the simplest value of `str | None` is a text.
    parts = [from_hint(one) for one in sorted(hints, key=lambda one: one is type(None))]
    found = [one for one in parts if one is not None]
    return st.one_of(found) if found else None


def _literals(hint: Any) -> Texts | None:
    """What Hypothesis makes of a type, if its text can be written into a program."""
    strategy = st.from_type(hint).map(repr).filter(_is_literal)
    try:
        strategy.validate()
        return None if isinstance(hint, type) and not _is_plain(hint) else strategy
    except (HypothesisException, TypeError, ValueError, NameError):
        return None


def _is_plain(hint: type) -> bool:
    return hint.__module__ in ("builtins", "collections.abc", "typing")


def _is_literal(text: str) -> bool:
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return False
    return True


def from_examples(name: str, examples: Any) -> Arguments:
    """Argument lists of a method from the `calls` of a setup file."""
    if isinstance(examples, SearchStrategy):
        return examples.map(lambda one: tuple(map(repr, _as_tuple(one))))
    rows = [
        tuple(
            repr(value) if _is_literal(repr(value)) else f"setup.calls[{name!r}][{row}]{at}"
            for at, value in _indexed(example)
        )
        for row, example in enumerate(examples)
    ]
    return st.sampled_from(rows or [()])


def _as_tuple(example: Any) -> tuple[Any, ...]:
    return example if isinstance(example, tuple) else (example,)


def _indexed(example: Any) -> list[tuple[str, Any]]:
    if not isinstance(example, tuple):
        return [("", example)]
    return [(f"[{at}]", value) for at, value in enumerate(example)]
