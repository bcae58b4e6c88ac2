# SPDX-License-Identifier: Apache-2.0
"""Does a library's method change anything? By its code, and that of what it calls.

Only the call of such a method is seen, and what is unknown counts as a write of its object. Many of
them only look something up: `__getitem__` of an immutable mapping, a getter, a comparison. Here
their instructions are read. Whatever stores something that outlives the call, or calls what is
unknown, changes something.
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

from unsnarl.probes.python.naming import MISSING, is_a
from unsnarl.probes.python.rewriter import opcodes
from unsnarl.probes.python.rewriter.names import (
    CHANGING_METHODS,
    CONTAINER_METHODS,
    READING_BUILTINS,
    SCALAR_BUILTINS,
    words,
)

_STORES = opcodes.numbers(
    "STORE_ATTR DELETE_ATTR STORE_SUBSCR DELETE_SUBSCR STORE_SLICE STORE_GLOBAL DELETE_GLOBAL"
    " STORE_DEREF DELETE_DEREF BEFORE_WITH BEFORE_ASYNC_WITH YIELD_VALUE SEND IMPORT_NAME"
    " CALL_FUNCTION_EX LOAD_SUPER_ATTR LOAD_SPECIAL MAKE_FUNCTION"
)
_LOAD_ATTR, _LOAD_METHOD = opcodes.op("LOAD_ATTR"), opcodes.op("LOAD_METHOD")
_LOAD_GLOBAL = opcodes.op("LOAD_GLOBAL")
_LOADS = opcodes.numbers("LOAD_FAST LOAD_FAST_BORROW LOAD_FAST_CHECK")
# Two variables in one argument, four bits each; the second is on top of the stack then.
_DOUBLE_LOADS = opcodes.numbers("LOAD_FAST_LOAD_FAST LOAD_FAST_BORROW_LOAD_FAST_BORROW")
_SECOND_LOADS = _DOUBLE_LOADS | opcodes.numbers("STORE_FAST_LOAD_FAST")
_METHOD_BIT = opcodes.VERSION >= (3, 12)  # of LOAD_ATTR: it looks up what is then called
_BINARY_OP = opcodes.op("BINARY_OP")
_AUGMENTED = 13  # first of its arguments that stand for += and its kin
_SUBSCRIPT = 26  # from 3.14 on x[k] is one of them
_READERS = (CONTAINER_METHODS - CHANGING_METHODS) | words(
    "startswith endswith strip lstrip rstrip split rsplit partition rpartition lower upper title"
    " casefold replace find rfind format encode decode join isdigit bit_length __getitem__"
    " __contains__ __len__ __iter__ __eq__ __hash__ __missing__ __repr__"
)
# Without those that take from an iterator, and those that call what they are given.
_HARMLESS = (READING_BUILTINS | SCALAR_BUILTINS | {"hasattr"}) - frozenset(
    {"next", "map", "filter", "input", "super"}
)
# What the interpreter calls for an instruction, perhaps of the object itself.
_OPERATORS = {
    opcodes.op("BINARY_SUBSCR"): "__getitem__",
    opcodes.op("CONTAINS_OP"): "__contains__",
    opcodes.op("GET_ITER"): "__iter__",
}
_CALLED = {"len": "__len__", "iter": "__iter__", "list": "__iter__", "sorted": "__iter__"}
_of_method: dict[tuple[types.CodeType, type], bool] = {}


class _Called(NamedTuple):
    """A function that is called, perhaps of the object itself."""

    function: types.FunctionType
    has_self: bool = True


class _ChangesError(Exception):
    """It changes something, or calls what is unknown."""


def only_reads(function: types.FunctionType, kind: type) -> bool:
    """Whether a method of a class in a library changes nothing, nor what it calls."""
    key = (function.__code__, kind)
    if key not in _of_method:
        _of_method[key] = _reads(_Called(function), kind)
    return _of_method[key]


def _reads(method: _Called, kind: type) -> bool:
    left, seen = [method], {method}
    try:
        while left:
            for called in _Body(left.pop(), kind).calls():
                if called not in seen:
                    seen.add(called)
                    left.append(called)
    except _ChangesError:
        return False
    return True


class _Body:
    """The instructions of a function that a method of a class comes to."""

    def __init__(self, called: _Called, kind: type) -> None:
        self._globals: dict[str, Any] = called.function.__globals__  # type: ignore[attr-defined]
        self._kind = kind
        code = called.function.__code__
        self._names = code.co_names
        if not _STORES.isdisjoint(code.co_code[::2]):
            raise _ChangesError
        self._ops, self._args, _, _ = opcodes.decode(code.co_code)
        self._has_self = called.has_self and self._hands_self()

    def _hands_self(self) -> bool:
        """Whether it uses the object as a value, as opposed to an attribute of it."""
        return any(
            (self._ops[at] in _DOUBLE_LOADS and self._args[at] >> 4 == 0)
            or (self._loads_first(at) and following not in (_LOAD_ATTR, _LOAD_METHOD))
            for at, following in enumerate(self._ops[1:])
        )

    def _loads_first(self, at: int) -> bool:
        """Whether an instruction leaves the object on top of the stack."""
        if self._ops[at] in _SECOND_LOADS:
            return self._args[at] & 15 == 0
        return self._ops[at] in _LOADS and self._args[at] == 0

    def calls(self) -> Iterator[_Called]:
        """What it calls of Python code."""
        named = 0
        for at, number in enumerate(self._ops):
            arg = self._args[at]
            if number == _LOAD_GLOBAL and arg & 1:
                named += 1
                yield from self._of_global(self._names[arg >> 1])
            elif number == _LOAD_METHOD or (number == _LOAD_ATTR and _METHOD_BIT and arg & 1):
                named += 1
                yield from self._of_name(at, self._names[arg >> (number == _LOAD_ATTR)])
            elif number == _LOAD_ATTR:
                yield from self._of_property(self._names[arg >> _METHOD_BIT])
            elif number == _BINARY_OP and arg >= _AUGMENTED and arg != _SUBSCRIPT:
                raise _ChangesError
            elif number in _OPERATORS or (number == _BINARY_OP and arg == _SUBSCRIPT):
                yield from self._of_operator(_OPERATORS.get(number, "__getitem__"))
        # More than it names: it calls what it was given, or has looked up.
        if sum(number in opcodes.CALLS for number in self._ops) > named:
            raise _ChangesError

    def _of_global(self, name: str) -> Iterator[_Called]:
        found: Any = self._globals.get(name, MISSING)
        if type(found) is types.FunctionType:
            yield _Called(found)
        elif found is MISSING and name in _HARMLESS:
            yield from self._of_operator(_CALLED.get(name, ""))
        else:
            found = getattr(builtins, name, None) if found is MISSING else found
            if not (is_a(found, type) and issubclass(found, BaseException)):
                raise _ChangesError

    def _of_name(self, at: int, name: str) -> Iterator[_Called]:
        """A method of the object itself, or else of a container."""
        method: Any = self._of_class(name) if self._is_own(at - 1) else MISSING
        if type(method) in (staticmethod, classmethod):
            yield _Called(method.__func__, has_self=False)
        elif type(method) is types.FunctionType:
            yield _Called(method)
        elif method is not MISSING or name not in _READERS:
            raise _ChangesError

    def _is_own(self, at: int) -> bool:
        """Whether an instruction loads the object, or a class of it."""
        if self._ops[at] == _LOAD_GLOBAL:
            found = self._globals.get(self._names[self._args[at] >> 1])
            return any(found is base for base in _mro(self._kind))
        return self._loads_first(at)

    def _of_operator(self, name: str) -> Iterator[_Called]:
        method: Any = self._of_class(name) if self._has_self else MISSING
        if type(method) is types.FunctionType:
            yield _Called(method)

    def _of_property(self, name: str) -> Iterator[_Called]:
        found = self._of_class(name)
        if type(found) is property:
            if type(found.fget) is not types.FunctionType:
                raise _ChangesError
            yield _Called(found.fget)

    def _of_class(self, name: str) -> Any:
        for base in _mro(self._kind):
            found = type.__dict__["__dict__"].__get__(base).get(name, MISSING)
            if found is not MISSING:
                return found
        return MISSING


def _mro(kind: type) -> tuple[type, ...]:
    return type.__dict__["__mro__"].__get__(kind)  # type: ignore[no-any-return]
