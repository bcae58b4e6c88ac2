# SPDX-License-Identifier: Apache-2.0
"""The class that is stressed: what can be called, with which arguments, how an object is made.

Names and type hints say most of it. What they do not say is in a setup file, a module of the user
with any of these names: `make()`, `calls`, `takes`, `state(object)`, `check(object)`.
"""

from __future__ import annotations

import dis
import functools
import importlib
import inspect
import json
import sys
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unsnarl.errors import UsageError

# Of the methods that the language calls: those that read or change one thing.
DUNDERS = ("__len__", "__getitem__", "__setitem__", "__delitem__", "__contains__", "__call__")
SETUP_NAMES = ("make", "calls", "takes", "state", "check")
HINT = "name it as MODULE:CLASS or FILE.py:CLASS, from the project's folder"
CHANGES = (
    *("STORE_ATTR", "STORE_SUBSCR", "STORE_GLOBAL", "STORE_DEREF"),
    *("DELETE_ATTR", "DELETE_SUBSCR"),
)
CHANGERS = frozenset(
    (
        *("add", "append", "appendleft", "clear", "close", "discard", "extend", "insert"),
        *("move_to_end", "notify", "notify_all", "pop", "popitem", "popleft", "put", "put_nowait"),
        *("release", "remove", "send", "set", "setdefault", "update", "wait", "write"),
    )
)
PLAIN_MODULES = ("builtins", "typing", "abc", "collections", "collections.abc")


@dataclass(frozen=True)
class Parameter:
    """A parameter that a call must give.

    Attributes:
        keyword: It can be given by its name only.
    """

    name: str
    hint: Any
    keyword: bool = False


@dataclass(frozen=True)
class Method:
    """What can be called.

    Attributes:
        examples: Argument lists to choose from, or a strategy of Hypothesis; None: from the hints.
        takes: The method whose result, in the same thread, is its first argument; "" for none.
        reads_only: Its code looks as if it changed nothing.
    """

    name: str
    parameters: tuple[Parameter, ...] = ()
    is_property: bool = False
    examples: Any = None
    takes: str = ""
    reads_only: bool = False


@dataclass(frozen=True)
class Subject:
    """A class with its setup.

    Attributes:
        kind: The class itself.
        module: The name that imports it, `name`: its own there.
        paths: Folders that have to be on the path for that.
        setup: The setup file's module; None if there is none.
        making: The parameters of the constructor, if the setup has no `make`.
    """

    kind: type
    module: str
    name: str
    methods: tuple[Method, ...]
    paths: tuple[str, ...] = ()
    setup: types.ModuleType | None = None
    making: tuple[Parameter, ...] = ()
    warnings: tuple[str, ...] = field(default=())

    @property
    def setup_name(self) -> str:
        """The name of the setup file's module; "" if there is none."""
        return self.setup.__name__ if self.setup else ""

    def has(self, name: str) -> bool:
        """Whether the setup file has something of this name."""
        return hasattr(self.setup, name)

    def described(self) -> str:
        """As the driver in the target's process reads it."""
        return json.dumps(
            {
                "module": self.module,
                "name": self.name,
                "paths": self.paths,
                "setup": self.setup_name,
            }
        )

    def package(self, root: Path) -> tuple[str, ...]:
        """The package to be instrumented in addition, if the class is not of the project."""
        file = getattr(sys.modules.get(self.module), "__file__", None)
        if file is None:
            return ()
        path = Path(file).resolve()
        installed = {"site-packages", "dist-packages"} & set(path.parts)
        if path.is_relative_to(root) and not installed:
            return ()
        return (self.module.partition(".")[0],)


def load(spec: str, setup_file: str | None, cwd: Path) -> Subject:
    """Import a class and its setup; raises UsageError."""
    module_name, _, name = spec.rpartition(":")
    if not module_name or not name:
        raise UsageError("bad-argument", f"{spec!r} names no class", HINT)
    paths = [str(cwd)]
    if module_name.endswith(".py"):
        file = (cwd / module_name).resolve()
        module_name = file.stem
        paths.insert(0, str(file.parent))
    setup_name = ""
    if setup_file is not None:
        file = (cwd / setup_file).resolve()
        setup_name = file.stem
        paths.insert(0, str(file.parent))
    paths = list(dict.fromkeys(paths))
    sys.path[:0] = [path for path in paths if path not in sys.path]
    module = _imported(module_name)
    kind = getattr(module, name, None)
    if not isinstance(kind, type):
        raise UsageError("stress-no-class", f"{module_name} has no class {name}", HINT)
    setup = _imported(setup_name) if setup_name else None
    if setup is not None:
        _check_setup(setup)
    methods = _methods(kind, setup)
    if not methods:
        raise UsageError(
            "stress-no-class",
            f"{name} has no public method to call",
            "name some in a setup file: calls = {'_get': [(1,)]}",
        )
    making = () if hasattr(setup, "make") else _parameters(kind.__init__)  # type: ignore[misc]
    return Subject(kind, module_name, name, methods, tuple(paths), setup, making)


def _imported(name: str) -> types.ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if not name.startswith(error.name or "?"):
            raise
        raise UsageError("stress-no-class", f"there is no module {name}", HINT) from None
    except Exception as error:
        text = f"{name} cannot be imported: {type(error).__name__}: {error}"
        raise UsageError("target-import-failed", text) from error


def _check_setup(setup: types.ModuleType) -> None:
    if not any(hasattr(setup, name) for name in SETUP_NAMES):
        raise UsageError(
            "bad-argument",
            f"the setup file {setup.__name__}.py defines none of: {', '.join(SETUP_NAMES)}",
        )
    if not isinstance(getattr(setup, "calls", {}), Mapping):
        raise UsageError("bad-argument", f"`calls` of {setup.__name__}.py is no dict")


def _methods(kind: type, setup: types.ModuleType | None) -> tuple[Method, ...]:
    found = dict(_public(kind))
    takes: Mapping[str, str] = getattr(setup, "takes", {})
    chosen: Mapping[str, Any] = getattr(setup, "calls", {})
    for name in (*chosen, *takes, *takes.values()):
        if not hasattr(kind, name):
            raise UsageError("bad-argument", f"{kind.__name__} has no {name} to call")
    names = list(chosen) or list(found)
    returned = _returned(found)
    methods = []
    for name in names:
        raw = found[name] if name in found else inspect.getattr_static(kind, name)
        methods.append(_method(name, raw, chosen.get(name), takes.get(name, ""), returned))
    return tuple(one for one in methods if one.takes in ("", *names))


def _method(name: str, raw: Any, examples: Any, takes: str, returned: Mapping[type, str]) -> Method:
    if isinstance(raw, (property, functools.cached_property)):
        reads_only = isinstance(raw, property) and looks_read_only(raw.fget)
        return Method(name, is_property=True, reads_only=reads_only)
    parameters = _parameters(raw)
    hint = parameters[0].hint if parameters else None
    if not takes and examples is None and isinstance(hint, type) and hint in returned:
        takes = returned[hint]
    if takes:
        parameters = parameters[1:]
    return Method(name, parameters, False, examples, takes, looks_read_only(raw))


def looks_read_only(function: Any) -> bool:
    """Whether code stores nothing but variables, and calls nothing that sounds like a change.

    A guess, for what is called how often; it decides nothing.
    """
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return False
    stores = any(one.opname.startswith(CHANGES) for one in dis.get_instructions(code))
    return not stores and not CHANGERS.intersection(code.co_names)


def _public(kind: type) -> Iterator[tuple[str, Any]]:
    """What the class defines for others to call; bases of the language itself are left out."""
    for base in reversed(kind.__mro__):
        if base.__module__ in PLAIN_MODULES:
            continue
        for name, raw in vars(base).items():
            if (not name.startswith("_") or name in DUNDERS) and _can_be_called(raw):
                yield name, raw


def _can_be_called(raw: Any) -> bool:
    if isinstance(raw, (property, functools.cached_property)):
        return True
    if isinstance(raw, (staticmethod, classmethod, type)) or not callable(raw):
        return False
    inner = inspect.unwrap(raw)
    # What these give has yet to be run; who iterates over it decides what it means.
    return not (
        inspect.iscoroutinefunction(inner)
        or inspect.isgeneratorfunction(inner)
        or inspect.isasyncgenfunction(inner)
    )


def _parameters(function: Any) -> tuple[Parameter, ...]:
    """What has to be given; what has a default is left at it."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return ()
    hints = _hints(function)
    rows = list(signature.parameters.values())[1:]  # the first is the object
    kinds = inspect.Parameter
    wanted = [
        row
        for row in rows
        if row.default is kinds.empty and row.kind not in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)
    ]
    return tuple(
        Parameter(row.name, hints.get(row.name), row.kind is kinds.KEYWORD_ONLY) for row in wanted
    )


def _hints(function: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(inspect.unwrap(function))
    except Exception:  # a name that exists for type checkers only, say
        return {}


def _returned(found: Mapping[str, Any]) -> dict[type, str]:
    """Classes that methods return, by class: `release(connection)` takes what `acquire` gave."""
    rows: dict[type, str] = {}
    for name, raw in found.items():
        hint = _hints(raw).get("return") if callable(raw) else None
        for one in typing.get_args(hint) or (hint,):
            if isinstance(one, type) and one.__module__ not in PLAIN_MODULES:
                rows.setdefault(one, name)
    return rows
