# SPDX-License-Identifier: Apache-2.0
"""The values of a few accesses, taken while a run is replayed.

No code of the target runs here: attributes are looked up without descriptors, only exact builtins
are shown with repr(). A probe stands before its access, so a written value is taken at the next
event of any thread: until then the writer has the gate's token and nobody else can write.
"""

from __future__ import annotations

import collections
import contextlib
import json
import posix
import posixpath
import stat
import sys
import types
from collections.abc import Callable
from typing import Any, NamedTuple

from unsnarl import _core
from unsnarl.model.event import Op, op_of
from unsnarl.probes.python import failures
from unsnarl.probes.python.naming import (
    KEYS,
    MISSING,
    SEQUENCES,
    Name,
    find_attribute,
    instrumented_frames,
    is_a,
    name_of,
    name_of_lock,
)

VALUE_LIMIT = 40
UNNAMED = "a lock"
UNKNOWN = object()  # what a cell has, if that cannot be looked at
_MAX_ITEMS = 8
_MAX_FRAMES = 8
_ATOMS = (*KEYS, complex)
# What functions of a module change, and no attribute of it shows (rewriter/names.py).
_STATES: dict[tuple[object, str] | None, Callable[[], object]] = {
    ("os", "cwd"): posix.getcwd,
    ("os", "umask"): lambda: UNKNOWN,
    ("signal", "handlers"): lambda: UNKNOWN,
    ("socket", "defaulttimeout"): lambda: UNKNOWN,
    ("locale", "locale"): lambda: UNKNOWN,
}

# [event index, point, thread path, value, names of the locks held, variable,
#  for each lock: [its number, the number of the acquisition], [object, element, owner or 0],
#  the stack: [file, line, function] of the target's frames].
# Locks and objects are numbered from 1 on as they are met: names may be shared, numbers are not.
Value = list[Any]


class _Cell(NamedTuple):
    """What was touched: `element` of `whole`, which is known as `name`."""

    whole: object
    name: Name
    element: str = ""


_values: list[Value] = []
_written: list[tuple[Value, object, object]] = []
_wanted: set[int] = set()
# Locks are kept, so that none can have the address of an earlier one.
_locks: dict[int, tuple[int, object]] = {}
_lock_names: dict[int, str] = {}
_objects: dict[int, int] = {}


def install(points: list[int]) -> None:
    """In the child, before the run begins: take values at these points."""
    _wanted.update(points)
    _core.set_capture_hook(_hook)


def note_values() -> None:
    """At the end of the run: note what was taken."""
    _settle()
    if _values:
        for value in _values:
            value[4] = [_lock_names.get(number, UNNAMED) for number, _ in value[6]]
        _core.note(json.dumps({"values": _values}))
        _values.clear()


def _hook(  # noqa: PLR0917  called from C
    index: int,
    point: int,
    path: str,
    obj: object,
    key: object,
    is_write: bool,
    locks: list[tuple[object, int]],
) -> None:
    # Values are an extra: a capture that fails must not fail the run.
    with contextlib.suppress(Exception):
        _settle()
        if point not in _wanted:
            return
        frames = list(instrumented_frames(sys._getframe(1)))
        if op_of(point).is_sync:
            _values.append(_sync(index, point, path, obj, frames))
            return
        is_call = op_of(point) is Op.CALL
        if type(obj) is str:
            kind = "folder" if key is True else "file"
            cell = _Cell(obj, Name(f"{kind} {_short_name(posixpath.basename(obj))}"))
        else:
            cell = _called(obj, frames) if is_call else _cell(obj, key, frames)
        held = [[_lock_number(lock, frames), section] for lock, section in locks]
        owner = 0 if cell.name.owner is None else _number(cell.name.owner)
        identity = [_number(cell.whole), cell.element, owner]
        value: Value = [index, point, path, "", [], cell.name.text, held, identity, _stack(frames)]
        _values.append(value)
        if not is_call and is_a(obj, *_events()):
            value[3] = repr(obj.__dict__.get("_flag"))
            return
        if (is_call or key is None) and not is_a(obj, str, dict, set, *SEQUENCES):
            return  # what an object of C code or of a library holds is its own affair
        if is_write:
            _written.append((value, obj, None if is_call else key))
        else:
            value[3] = value_text(obj, key)


def _events() -> tuple[type, ...]:
    """The type of events; none where the program has none."""
    threading = sys.modules.get("threading")
    return (threading.Event,) if threading else ()


def _sync(index: int, point: int, path: str, lock: object, frames: list[types.FrameType]) -> Value:
    """Of a lock operation its calls, and the lock's name if it is not one of a library's own."""
    caller = sys._getframe(2)
    is_own = bool(frames) and frames[0] is caller
    name = name_of_lock(lock, frames) if is_own else ""
    if not is_own and op_of(point) is Op.RELEASE and id(lock) in _locks:
        name = _lock_names.get(_locks[id(lock)][0], "")  # a wait gives back what the program holds
    return [index, point, path, "", [], name, [], [0, "", 0], _stack(frames)]


def _stack(frames: list[types.FrameType]) -> list[tuple[str, int, str]]:
    """The target's own calls that led here, innermost first."""
    return [
        (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_qualname)
        for frame in frames[:_MAX_FRAMES]
    ]


def _settle() -> None:
    """Fill in what was being written at the last event."""
    while _written:
        value, obj, key = _written.pop()
        value[3] = value_text(obj, key)


def value_text(obj: object, key: object) -> str:
    """What is now in the cell (`obj`, `key`), as a short text."""
    if type(obj) is str:
        return _file(obj)
    found = _contents(obj, key)
    if found is UNKNOWN:
        return ""
    return "<unset>" if found is MISSING else short(found)


def short(value: object) -> str:
    """repr() of exact builtins, `<Type>` of all else, cut to 40 characters."""
    text = repr(value) if _is_plain(value, 2) else f"<{type(value).__name__}{_size(value)}>"
    text = failures.clean(text)
    return text if len(text) <= VALUE_LIMIT else text[: VALUE_LIMIT - 1] + "…"


def _size(value: object) -> str:
    """How long a container is, as its builtin base says."""
    bases: tuple[Any, ...] = (dict, set, frozenset, *SEQUENCES)
    base = next((base for base in bases if is_a(value, base)), None)
    return f" of {base.__len__(value)}" if base else ""


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
    # The items of a dictionary are tuples, which take the level themselves.
    items: Any = dict.items(value) if kind is dict else value  # type: ignore[arg-type]
    return all(_is_plain(item, depth - (kind is not dict)) for item in list(items))


def _short_name(name: str) -> str:
    """The name of a file: a digest says as much by its ends."""
    return name if len(name) <= VALUE_LIMIT else f"{name[:12]}…{name[-16:]}"


def _file(path: str) -> str:
    """What is under a path now."""
    try:
        state = posix.stat(path)
        if stat.S_ISDIR(state.st_mode):
            return f"<folder of {len(posix.listdir(path))}>"
    except OSError:
        return "<no file>"
    return f"<file of {state.st_size} bytes>"


def _contents(obj: object, key: object) -> object:
    if type(obj) is types.CellType:
        try:
            return obj.cell_contents
        except ValueError:
            return MISSING
    if is_a(obj, dict, set, frozenset, *SEQUENCES) and not _is_attribute(obj, key):
        return _inside(obj, key)
    if type(key) is not str:
        return MISSING
    state = (obj.__dict__.get("__name__"), key) if is_a(obj, types.ModuleType) else None
    if state in _STATES:
        return _STATES[state]()
    return find_attribute(obj, key)[1]


def _is_attribute(obj: Any, key: object) -> bool:
    """Whether an object that is a container has an attribute of that name, and no such element."""
    if type(key) is not str or type(obj) in (dict, list):
        return False
    has_it = find_attribute(obj, key)[0] is obj and find_attribute(obj, key)[1] is not MISSING
    return has_it and not (is_a(obj, dict) and dict.__contains__(obj, key))


def _inside(obj: Any, key: object) -> object:
    """An element of a container, or all of it; a subclass is asked as its builtin base."""
    if key is None or type(key) is slice:
        return obj
    if is_a(obj, dict):
        if _is_plain(key, 1):
            return dict.get(obj, key, MISSING)
        # To look for another key would run Python code, unless it is equal to itself alone.
        pairs: Any = dict.items(obj)
        same = (value for other, value in list(pairs) if other is key)
        return next(same, MISSING) if _key(key) else UNKNOWN
    base: Any = next((kind for kind in SEQUENCES if is_a(obj, kind)), None)
    if base is None or type(key) is not int or not -base.__len__(obj) <= key < base.__len__(obj):
        return MISSING
    return base.__getitem__(obj, key)


def _called(obj: object, frames: list[types.FrameType]) -> _Cell:
    return _Cell(obj, name_of(obj, frames))


def _cell(obj: object, key: object, frames: list[types.FrameType]) -> _Cell:
    """What an access touches, by a name that the user would know it by."""
    if type(obj) is types.CellType or any(frame.f_globals is obj for frame in frames):
        return _Cell(obj, Name(str(key)))
    if is_a(obj, types.ModuleType):
        return _Cell(obj.__dict__, _name_in_module(obj, key, frames))
    if type(key) is not str or (is_a(obj, dict) and not _is_attribute(obj, key)):
        return _Cell(obj, name_of(obj, frames), _element(obj, key))
    holder, _ = find_attribute(obj, key)
    kind: Any = obj if is_a(obj, type) else type(obj)
    return _Cell(holder, Name(f"{kind.__name__}.{key}", holder))


def _name_in_module(module: Any, key: object, frames: list[types.FrameType]) -> Name:
    """A global of the code at work has no prefix; without a key it is the module's own state."""
    if any(frame.f_globals is module.__dict__ for frame in frames):
        return Name(str(key))
    name = module.__dict__.get("__name__", "?")
    return Name(name if key is None else f"{name}.{key}")


def _element(obj: object, key: object) -> str:
    """`['tea']`, for keys whose elements the core distinguishes (cells.c)."""
    if is_a(obj, dict):
        text = "" if key is None else _key(key)
        return f"[{text}]" if text else ""
    if type(key) is not int:
        return ""
    return f"[{key + len(obj) if key < 0 and type(obj) in SEQUENCES else key}]"  # type: ignore[arg-type]


def _key(key: object) -> str:
    """A key as a person would name it: objects by their numbers, members by their names."""
    if _is_plain(key, 1):
        return short(key)
    kind: Any = type(key)
    methods = {name: type.__getattribute__(kind, name) for name in ("__hash__", "__eq__")}
    if methods["__eq__"] is not object.__eq__:
        return ""
    if is_a(key, type):
        return str(type.__getattribute__(key, "__name__"))
    modules = {type.__getattribute__(one, "__module__") for one in kind.__mro__}
    if "enum" in modules:
        return f"{kind.__name__}.{key.__dict__.get('_name_', '?')}"
    by_address = methods["__hash__"] is object.__hash__ or "threading" in modules
    return f"<{kind.__name__} {_number(key)}>" if by_address else ""


def _number(obj: object) -> int:
    return _objects.setdefault(id(obj), len(_objects) + 1)


def _lock_number(lock: object, frames: list[types.FrameType]) -> int:
    number, _ = _locks.setdefault(id(lock), (len(_locks) + 1, lock))
    if number not in _lock_names and (name := name_of(lock, frames).text):
        _lock_names[number] = name
    return number
