# SPDX-License-Identifier: Apache-2.0
"""What a cell or a lock is called in the target's own words, while a run is replayed.

No code of the target runs here: attributes are looked up without descriptors, containers are read
through their builtin types only.
"""

from __future__ import annotations

import collections
import contextlib
import gc
import itertools
import sys
import threading
import types
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from unsnarl.probes.python import failures, process_locks

MISSING = object()
_HEAP_TYPE = 1 << 9
# Modules whose objects have no parts that a reader would know by name.
_WITHOUT_NAMES = ("builtins", "_multiprocessing")
_MODULES_WITH_STATE = ("os", "sys", "random", "logging", "warnings", "signal", "socket")
# Parts that many things have in common.
_NEVER_NAMED = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, str, int)
KEYS = (int, str, float, bool, type(None), bytes)
SEQUENCES: tuple[type, ...] = (list, tuple, collections.deque)
# How many elements of a container are looked at in search of a name.
_MOST_ELEMENTS = 100
# A search two levels deep goes through all that a module holds: some milliseconds each.
_MOST_DEEP_SEARCHES = 200
_deep_searches = itertools.count()
# An object that no variable holds may be met in a loop, and each search goes through all globals.
_MOST_FAILED_SEARCHES = 3
_nameless: collections.Counter[tuple[int, int]] = collections.Counter()


class Name(NamedTuple):
    """A name, and the object whose attribute it is, if it is one."""

    text: str = ""
    owner: object = None


def is_a(value: object, *kinds: type) -> bool:
    """isinstance() that never asks the target's `__class__`."""
    return any(issubclass(type(value), kind) for kind in kinds)


def name_of(wanted: object, frames: list[types.FrameType]) -> Name:
    """How the nearest instrumented frame that can see an object would call it."""
    seeker = id(wanted), id(frames[0].f_code) if frames else 0
    if _nameless[seeker] < _MOST_FAILED_SEARCHES:
        found = _searched(wanted, frames)
        if found.text == "self":
            return _name_outside(wanted, frames)
        if found.text:
            return found
        _nameless[seeker] += 1
    return _name_in_library(wanted) or _name_by_parts(wanted, frames)


def _name_outside(wanted: object, frames: list[types.FrameType]) -> Name:
    """What those call an object who called its methods; if they have no name for it, its class."""
    outside = [frame for frame in frames if frame.f_locals.get("self") is not wanted]
    found = _searched(wanted, outside)
    return found if found.text else Name(type(wanted).__name__)


def name_of_lock(wanted: object, frames: list[types.FrameType]) -> str:
    """A lock by a name that is understood everywhere: a global of a module on the stack, if it is.

    The wrapper of a decorator knows it as `lock`, and so do all others.
    """
    for frame in frames:
        found = _search(wanted, list(frame.f_globals.items()), 0)
        if found.text:
            return found.text
    return name_of(wanted, frames).text


def _searched(wanted: object, frames: list[types.FrameType]) -> Name:
    found = _search_frames(wanted, frames, 1)
    if not found.text and next(_deep_searches) < _MOST_DEEP_SEARCHES:
        found = _search_frames(wanted, frames, 2)
    return found


def _name_in_library(wanted: object) -> Name | None:
    """A module, or what a module of the standard library has under a name: `os.environ`."""
    if is_a(wanted, types.ModuleType):
        return Name(str(wanted.__dict__.get("__name__", "")))
    for module_name in _MODULES_WITH_STATE:
        module = sys.modules.get(module_name)
        for name, value in list(module.__dict__.items()) if module else ():
            if value is wanted:
                return Name(f"{module_name}.{name}")
    return None


def _name_by_parts(wanted: object, frames: list[types.FrameType]) -> Name:
    """`Cursor of Store.connection`: a nameless object of C code, by what it stands on."""
    if is_a(wanted, *_NEVER_NAMED) or not _is_of_c(type(wanted)):
        return Name()
    for part in gc.get_referents(wanted):
        if not is_a(part, *_NEVER_NAMED):
            found = _search_frames(part, frames, 1)
            if found.text:
                return Name(f"{type(wanted).__name__} of {found.text}")
    return Name()


def _is_of_c(kind: type) -> bool:
    """Whether C code made the type: classes of Python can hold anything."""
    return (
        not kind.__flags__ & _HEAP_TYPE
        or not hasattr(kind, "__dict__")
        or ("__dict__" not in kind.__dict__ and "__slots__" not in kind.__dict__)
    )


def _search_frames(wanted: object, frames: list[types.FrameType], depth: int) -> Name:
    for frame in frames:
        scopes = [frame.f_locals]
        if frame.f_globals is not frame.f_locals:
            scopes.append(frame.f_globals)
        for scope in scopes:
            found = _search(wanted, list(scope.items()), depth)
            if found.text:
                return found
    return Name()


def instrumented_frames(frame: types.FrameType | None) -> Iterator[types.FrameType]:
    """The frames of the target's own code, innermost first."""
    files = failures.user_files()
    while frame is not None:
        if frame.f_code.co_filename in files:
            yield frame
        frame = frame.f_back


def find_attribute(obj: object, name: str) -> tuple[object, object]:
    """What has an attribute and what is in it, without running any descriptor of the target."""
    for key, value in instance_attributes(obj):
        if key == name:
            return obj, value
    for base in _mro(obj if is_a(obj, type) else type(obj)):
        # By type's own descriptor: a metaclass of the target may have a `__dict__` of its own.
        entry = type.__dict__["__dict__"].__get__(base).get(name, MISSING)
        if type(entry) is types.MemberDescriptorType:
            # A slot without a value; it hides attributes of further bases.
            return obj, MISSING
        if entry is not MISSING:
            return base, entry
    return obj, MISSING


def instance_attributes(obj: object) -> list[tuple[str, object]]:
    """What an object stores under names: its dictionary, then its slots."""
    found: list[tuple[str, object]] = []
    with contextlib.suppress(Exception):
        found += object.__getattribute__(obj, "__dict__").items()
    for base in _mro(type(obj)):
        for name, entry in list(type.__dict__["__dict__"].__get__(base).items()):
            if type(entry) is types.MemberDescriptorType:
                with contextlib.suppress(AttributeError):
                    found.append((name, entry.__get__(obj)))
    return found


def _mro(kind: Any) -> tuple[type, ...]:
    order: tuple[type, ...] = type.__dict__["__mro__"].__get__(kind)
    return order


def _search(wanted: object, names: Iterable[tuple[str, object]], depth: int) -> Name:
    """Level by level: a variable before an attribute, an attribute before an attribute's."""
    # names with an @ were made by pytest's assertion rewriter
    level = [(Name(name), value) for name, value in names if not name.startswith("@")]
    seen = {id(wanted)}
    for remaining in range(depth, -1, -1):
        for name, value in level:
            if _is_or_wraps(value, wanted):
                return name
        fresh = [(name, value) for name, value in level if id(value) not in seen]
        seen.update(id(value) for _, value in fresh)
        if remaining:
            level = [part for name, value in fresh for part in _parts(name, value)]
    return Name()


def _parts(name: Name, whole: object) -> Iterator[tuple[Name, object]]:
    kind = type(whole)
    if kind in SEQUENCES:
        for index, value in enumerate(itertools.islice(whole, _MOST_ELEMENTS)):  # type: ignore[call-overload]
            yield Name(f"{name.text}[{index}]", name.owner), value
    elif kind is dict:
        for key, value in itertools.islice(list(whole.items()), _MOST_ELEMENTS):  # type: ignore[attr-defined]
            if type(key) in KEYS:
                yield Name(f"{name.text}[{key!r}]", name.owner), value
    elif not is_a(whole, types.ModuleType, types.FunctionType, types.MethodType):
        yield from _attributes(whole)


def _attributes(owner: object) -> Iterator[tuple[Name, object]]:
    kind: Any = owner if is_a(owner, type) else type(owner)
    if kind.__module__ not in _WITHOUT_NAMES:
        for name, value in instance_attributes(owner):
            yield Name(f"{kind.__name__}.{name}", owner), value
        # Without `object`. Of a class only what threads may share counts: containers and locks.
        for base in _mro(kind)[:-1]:
            for name, value in list(type.__dict__["__dict__"].__get__(base).items()):
                if is_a(value, dict, set, *SEQUENCES) or _is_lock(value):
                    yield Name(f"{base.__name__}.{name}", base), value


def _is_lock(value: object) -> bool:
    return hasattr(type(value), "acquire") or process_locks.gate_of(value) is not None


def _is_or_wraps(value: object, wanted: object) -> bool:
    """Whether it is the object, or a condition on it: `with self.ready` holds the inner lock.

    Or a lock of multiprocessing that it stands for.
    """
    if value is wanted or process_locks.gate_of(value) is wanted:
        return True
    return is_a(value, threading.Condition) and value.__dict__.get("_lock") is wanted
