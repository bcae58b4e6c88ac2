# SPDX-License-Identifier: Apache-2.0
"""Values as texts that can be compared between processes.

Objects that have no text of their own go by their type and a number: equal numbers are one object.
So two runs in which both threads got the same connection look alike, and differ from one in which
each got its own. Programs that `unsnarl stress` writes import this.
"""

from __future__ import annotations

import dataclasses
import enum
import threading
from collections import ChainMap, Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable, Mapping
from typing import Any

PLAIN = (type(None), bool, int, float, complex, str, bytes, range)
ORDERED = (list, tuple, deque)
UNORDERED = (set, frozenset)
MAPPINGS = (dict, defaultdict, Counter, ChainMap)
DEEPEST = 6

# A text, an object, or a beginning, parts and whether these are sorted.
Frozen = Any


class _Object:
    """An object that is to be numbered; it is kept, since the address of a dead one comes back."""

    def __init__(self, value: object) -> None:
        self.value = value


def frozen(value: Any, depth: int = 0) -> Frozen:
    """The value as it is now: containers may be changed later. `Numbers.text` shows it."""
    if depth > DEEPEST:
        return "..."
    text = _named(value)
    if text is not None:
        return text
    parts = _parts(value, depth + 1)
    return _Object(value) if parts is None else parts


def is_shown(part: Frozen) -> bool:
    """Whether what was frozen is more than the number of an object."""
    return not isinstance(part, _Object)


def _named(value: Any) -> str | None:
    """What has a text of its own."""
    kind = type(value)
    if kind in PLAIN:
        return _plain(value)
    if isinstance(value, enum.Enum):
        return f"{kind.__name__}.{value.name}"
    if isinstance(value, BaseException):
        return f"{kind.__name__}(...)"
    return f"class {value.__name__}" if isinstance(value, type) else None


def _parts(value: Any, depth: int) -> Frozen | None:
    """A container, or an object that is equal to others with the same fields."""
    kind = type(value)
    if kind in ORDERED or (isinstance(value, tuple) and hasattr(value, "_fields")):
        return (kind.__name__, tuple(frozen(one, depth) for one in value), False)
    if kind in UNORDERED:
        return (kind.__name__, tuple(frozen(one, depth) for one in value), True)
    if kind in MAPPINGS or kind is OrderedDict:
        rows = tuple(_row(key, one, depth) for key, one in value.items())
        return ("dict", rows, kind is not OrderedDict)
    if dataclasses.is_dataclass(kind) and kind.__dataclass_params__.eq:  # type: ignore[attr-defined]
        names = [field.name for field in dataclasses.fields(kind)]
        rows = tuple(_row(name, getattr(value, name, None), depth) for name in names)
        return (kind.__name__, rows, False)
    return None


def _plain(value: Any) -> str:
    if type(value) is int and value > 1 << 32:
        # Where a thread's number is an address, it differs from run to run.
        named = next((one for one in threading.enumerate() if one.ident == value), None)
        if named is not None:
            return f"ident of {named.name}"
    return repr(value)


def _row(key: object, value: object, depth: int) -> Frozen:
    return (":", (frozen(key, depth), frozen(value, depth)), False)


class Numbers:
    """Numbers objects in the order in which they are shown."""

    def __init__(self) -> None:
        self._objects: list[object] = []

    def text(self, part: Frozen) -> str:
        """What was frozen, as a text."""
        if isinstance(part, str):
            return part
        if isinstance(part, _Object):
            return f"<{type(part.value).__name__} {self._number(part.value)}>"
        name, parts, is_sorted = part
        texts: Iterable[str] = [self.text(one) for one in parts]
        return _joined(name, sorted(texts) if is_sorted else list(texts))

    def _number(self, value: object) -> int:
        for number, one in enumerate(self._objects, 1):
            if one is value:
                return number
        self._objects.append(value)
        return len(self._objects)


def _joined(name: str, texts: list[str]) -> str:
    inner = ", ".join(texts)
    if name == ":":
        return ": ".join(texts)
    if name == "list":
        return f"[{inner}]"
    if name == "tuple":
        return f"({inner},)" if len(texts) == 1 else f"({inner})"
    if name == "dict":
        return f"{{{inner}}}"
    if name == "set" and texts:
        return f"{{{inner}}}"
    return f"{name}({inner})"


def shown(values: Mapping[str, object]) -> dict[str, str]:
    """Values as texts; by their keys, so that numbers do not depend on who was first."""
    numbers = Numbers()
    return {key: numbers.text(frozen(values[key])) for key in sorted(values)}
