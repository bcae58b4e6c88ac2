# SPDX-License-Identifier: Apache-2.0
"""The values of a few accesses, taken while a known run is replayed.

No code of the target runs here: attributes are looked up without descriptors, only exact builtins
are shown with repr(). A probe stands before its access, so a written value is taken at the next
event of any thread: until then the writer has the gate's token and nobody else can write.
"""

from __future__ import annotations

import collections
import contextlib
import json
import sys
import threading
import types
from collections.abc import Iterator
from typing import Any

from unsnarl import _core
from unsnarl.probes.python import failures

VALUE_LIMIT = 40
_MAX_ITEMS = 8
_MISSING = object()
_ATOMS = (int, str, float, bool, type(None), bytes, complex)
_SEQUENCES: tuple[type, ...] = (list, tuple, collections.deque)
_KEYS = (int, str, float, bool, type(None), bytes)

# [event index, point, thread path, value, names of the locks held, variable]
Value = list[Any]

_values: list[Value] = []
_written: list[tuple[Value, object, object]] = []
_wanted: set[int] = set()
_lock_names: dict[int, str | None] = {}


def install(points: list[int]) -> None:
    """In the child, before the run begins: take values at these points."""
    _wanted.update(points)
    _core.set_capture_hook(_hook)


def note_values() -> None:
    """At the end of the run: note what was taken."""
    _settle()
    if _values:
        _core.note(json.dumps({"values": _values}))
        _values.clear()


def _hook(  # noqa: PLR0917  called from C
    index: int,
    point: int,
    path: str,
    obj: object,
    key: object,
    is_write: bool,
    locks: tuple[object, ...],
) -> None:
    with contextlib.suppress(Exception):
        _settle()
        if point not in _wanted:
            return
        frames = list(_instrumented_frames(sys._getframe(1)))
        # a lock without a name is one that threading made for itself
        names = [name for lock in locks if (name := _lock_name(lock, frames))]
        value: Value = [index, point, path, "", names, _variable(obj, key, frames)]
        _values.append(value)
        if is_write:
            _written.append((value, obj, key))
        else:
            value[3] = value_text(obj, key)


def _settle() -> None:
    """Fill in what was being written at the last event."""
    while _written:
        value, obj, key = _written.pop()
        value[3] = value_text(obj, key)


def value_text(obj: object, key: object) -> str:
    """What is now in the cell (`obj`, `key`), as a short text."""
    found = _contents(obj, key)
    return "<unset>" if found is _MISSING else short(found)


def short(value: object) -> str:
    """repr() of exact builtins, `<Type>` of all else, cut to 40 characters."""
    text = repr(value) if _is_plain(value, 2) else f"<{type(value).__name__}>"
    text = failures.clean(text)
    return text if len(text) <= VALUE_LIMIT else text[: VALUE_LIMIT - 1] + "…"


def _is_plain(value: object, depth: int) -> bool:
    kind = type(value)
    if kind is int:
        return int.bit_length(value) < 4096  # type: ignore[arg-type]  # longer ones may not be printed
    if kind in _ATOMS:
        return True
    if depth == 0 or kind not in (list, tuple, dict, set, frozenset, collections.deque):
        return False
    if len(value) > _MAX_ITEMS:  # type: ignore[arg-type]
        return False
    items: Any = dict.items(value) if kind is dict else value  # type: ignore[arg-type]
    return all(_is_plain(item, depth - (kind is not dict)) for item in list(items))


def _contents(obj: object, key: object) -> object:
    kind = type(obj)
    if isinstance(obj, types.CellType):
        try:
            return obj.cell_contents
        except ValueError:
            return _MISSING
    if (key is None or type(key) is slice) and kind in (*_SEQUENCES, dict, set, frozenset):
        return obj
    if kind is dict:
        return dict.get(obj, key, _MISSING) if type(key) in _KEYS else _MISSING  # type: ignore[call-overload]
    if kind in _SEQUENCES:
        return _element(obj, key)
    return _attribute(obj, key) if type(key) is str else _MISSING


def _element(obj: Any, key: object) -> object:
    if type(key) is not int or not -len(obj) <= key < len(obj):
        return _MISSING
    return obj[key]


def _attribute(obj: object, name: str) -> object:
    """An attribute as it is stored, without running __getattr__, a property or any descriptor."""
    with contextlib.suppress(AttributeError):
        found = object.__getattribute__(obj, "__dict__").get(name, _MISSING)
        if found is not _MISSING:
            return found
    for base in type.__dict__["__mro__"].__get__(type(obj)):
        entry = type.__dict__["__dict__"].__get__(base).get(name, _MISSING)
        if type(entry) is types.MemberDescriptorType:
            try:
                return entry.__get__(obj)
            except AttributeError:
                return _MISSING
        if entry is not _MISSING:
            return entry
    return _MISSING


def _variable(obj: object, key: object, frames: list[types.FrameType]) -> str:
    """A name that the user would know the cell by."""
    if isinstance(obj, types.CellType) or _is_globals(obj, frames):
        return str(key)
    if isinstance(obj, types.ModuleType):
        return f"{obj.__dict__.get('__name__', '?')}.{key}"
    if isinstance(obj, (dict, set, frozenset, *_SEQUENCES)):
        name = _name_of(obj, frames) or type(obj).__name__
        return name if key is None else f"{name}[{short(key)}]"
    owner = obj.__name__ if isinstance(obj, type) else type(obj).__name__
    return f"{owner}.{key}" if type(key) is str else owner


def _is_globals(obj: object, frames: list[types.FrameType]) -> bool:
    return any(frame.f_globals is obj for frame in frames)


def _lock_name(lock: object, frames: list[types.FrameType]) -> str | None:
    known = _lock_names.get(id(lock))  # a lock that is held does not go away
    if known is None:
        known = _lock_names[id(lock)] = _name_of(lock, frames)
    return known


def _name_of(wanted: object, frames: list[types.FrameType]) -> str | None:
    """The name of an object, as the nearest instrumented frame that can see it would write it."""
    for frame in frames:
        scopes = [frame.f_locals]
        if frame.f_globals is not frame.f_locals:
            scopes.append(frame.f_globals)
        for scope in scopes:
            name = _search(wanted, list(scope.items()))
            if name is not None:
                return name
    return None


def _search(wanted: object, names: list[tuple[str, object]]) -> str | None:
    inner: str | None = None
    for name, value in names:
        if name.startswith("@"):
            continue  # made by pytest's assertion rewriter
        if _is_or_wraps(value, wanted):
            return name
        if inner is None:
            inner = _search_attributes(wanted, value)
    return inner


def _search_attributes(wanted: object, owner: object) -> str | None:
    if isinstance(owner, types.ModuleType):
        return None
    with contextlib.suppress(Exception):
        attributes = object.__getattribute__(owner, "__dict__")
        kind = owner if isinstance(owner, type) else type(owner)
        for name, value in list(attributes.items()):
            if _is_or_wraps(value, wanted):
                return f"{kind.__name__}.{name}"
    return None


def _is_or_wraps(value: object, wanted: object) -> bool:
    """Whether it is the object, or a condition on it: `with self.ready` holds the inner lock."""
    if value is wanted:
        return True
    return isinstance(value, threading.Condition) and value.__dict__.get("_lock") is wanted


def _instrumented_frames(frame: types.FrameType | None) -> Iterator[types.FrameType]:
    files = failures.user_files()
    while frame is not None:
        if frame.f_code.co_filename in files:
            yield frame
        frame = frame.f_back
