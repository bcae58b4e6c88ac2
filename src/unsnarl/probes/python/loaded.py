# SPDX-License-Identifier: Apache-2.0
"""Probes for what is loaded already, in a process that was forked to hunt a function of it.

Everywhere else the target is imported after the probes were installed. Here its functions exist:
each gets the code that the importer would have given it. What was replaced is replaced as well
where modules took it by name (`from threading import Lock`), and free locks in objects of the
target come under the gate (docs/adr/0065).
"""

from __future__ import annotations

import ast
import gc
import linecache
import os
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from types import CellType, CodeType, FunctionType
from typing import Any

from unsnarl.probes.errors import TargetError
from unsnarl.probes.python import importer, overlay, registry, sync
from unsnarl.probes.python.rewriter.module import codes_by_name, stored_globals

# By module and name, what it was before anything was replaced.
Names = dict[tuple[str, str], Any]
_PYTEST_NAME = "@pytest_ar"  # see overlay.py
_OURS = "unsnarl"


def names() -> Names:
    """What modules hold that can be called; to be asked before anything is replaced."""
    return {
        (module, name): value
        for module, held in _modules()
        for name, value in list(held.items())
        if callable(value)
    }


def _modules() -> Iterator[tuple[str, dict[str, Any]]]:
    """The modules but ours, which keep what is real."""
    for name, module in list(sys.modules.items()):
        held = getattr(module, "__dict__", None)
        if isinstance(held, dict) and name.partition(".")[0] != _OURS:
            yield name, held


def _is_inner(module: str) -> bool:
    """Whether it is the interpreter's own: what it takes from others stays, as in any server."""
    spec = getattr(sys.modules.get(module), "__spec__", None)
    return getattr(spec, "origin", None) in ("built-in", "frozen")


def replace_copies(before: Names) -> None:
    """What was replaced in one module is replaced in all that have it by a name of their own."""
    new = {id(old): _now(key) for key, old in before.items() if _now(key) is not old}
    for (module, name), old in before.items():
        if id(old) in new and _now((module, name)) is old and not _is_inner(module):
            sys.modules[module].__dict__[name] = new[id(old)]


def _now(key: tuple[str, str]) -> Any:
    module = sys.modules.get(key[0])
    return module.__dict__.get(key[1]) if module is not None else None


def give_probes(function: Callable[[], object], codes: str) -> None:
    """To the functions of the target's files, to the given one in any case."""
    _adopt_locks()
    by_file: dict[str, list[FunctionType]] = defaultdict(list)
    given = getattr(function, "__func__", function)
    for one in _functions():
        file = one.__code__.co_filename
        own = one is given or (not _is_file(file) and one.__module__ == given.__module__)
        if own or importer.covers(file, one.__module__ or ""):
            by_file[file].append(one)
    stored_elsewhere = stored_by_namespace(one for group in by_file.values() for one in group)
    for file, group in sorted(by_file.items()):
        left = {id(one): one for one in group}
        for one, code in _rewritten(file, group, stored_elsewhere, codes):
            if one.__code__.co_freevars == code.co_freevars:
                one.__code__ = code
                del left[id(one)]
        if id(given) in left:
            raise TargetError(
                "function-without-source",
                f"the source of {given.__qualname__} cannot be read, or is not what was loaded",
            )
        if _is_file(file):  # what exec() made (methods of dataclasses, say) is seen nowhere
            registry.UNSEEN.extend(f"accesses in {one.__qualname__}()" for one in left.values())


def _functions() -> list[FunctionType]:
    """In an order that does not depend on addresses: sites are counted in it."""
    found = [one for one in gc.get_objects() if type(one) is FunctionType]
    return sorted(found, key=lambda one: (one.__code__.co_firstlineno, one.__code__.co_qualname))


def stored_by_namespace(functions: Iterable[FunctionType]) -> dict[int, set[str]]:
    """By namespace, the globals that any function stores: cells of a notebook share one."""
    found: dict[int, set[str]] = defaultdict(set)
    for one in functions:
        found[id(one.__globals__)] |= stored_globals(one.__code__)
    return found


def _rewritten(
    file: str, functions: list[FunctionType], stored: dict[int, set[str]], codes: str
) -> Iterator[tuple[FunctionType, CodeType]]:
    """The functions of a file, each with its code as the importer would have made it."""
    shared = frozenset(stored[id(functions[0].__globals__)])
    found = FileCodes(file, functions[0], shared, codes)
    for one in functions:
        code = found.with_probes(one.__code__)
        if code is not None:
            yield one, code


class FileCodes:
    """All code of a file, as it was loaded and with probes.

    `function` is one of the file's, `shared` the globals that functions store, `codes` where the
    text of a notebook's cell is kept.
    """

    def __init__(
        self, file: str, function: FunctionType, shared: frozenset[str], codes: str
    ) -> None:
        self._original: dict[str, list[CodeType]] = {}
        self._made: dict[str, list[CodeType]] = {}
        source = "".join(linecache.getlines(file, function.__globals__))
        if not source:
            return
        asserts = _PYTEST_NAME in function.__globals__
        self._original = codes_by_name(_compiled(source, file, asserts))
        name = _kept(file, source, codes)
        patched = (overlay.patched_source(file) or b"").decode() or source
        code = _compiled(patched, name, asserts)
        made = importer.instrument(code, function.__module__ or "", name, shared)
        self._made = codes_by_name(made)

    def with_probes(self, code: CodeType) -> CodeType | None:
        """The same with probes; None where the file is no longer what was loaded."""
        return _same(code, self._original, self._made)


def _same(
    code: CodeType, original: dict[str, list[CodeType]], made: dict[str, list[CodeType]]
) -> CodeType | None:
    """The new code of a function; None where the file is no longer what was loaded."""
    old, new = original.get(code.co_qualname, []), made.get(code.co_qualname, [])
    lines = [one.co_firstlineno for one in old]
    if len(old) != len(new) or lines.count(code.co_firstlineno) != 1:
        return None
    index = lines.index(code.co_firstlineno)
    return new[index] if _parts(old[index]) == _parts(code) else None


def _parts(code: CodeType) -> tuple[object, ...]:
    """What a function does, without where it is: code objects compare lines and files, too."""
    constants = tuple(
        _parts(one) if isinstance(one, CodeType) else (type(one), one) for one in code.co_consts
    )
    return code.co_code, code.co_names, code.co_varnames, constants


def _compiled(source: str, file: str, asserts: bool) -> CodeType:
    tree = ast.parse(source, file)
    if asserts:
        rewriter = sys.modules["_pytest.assertion.rewrite"]
        rewriter.rewrite_asserts(tree, source.encode(), file)
    return compile(tree, file, "exec", dont_inherit=True)


def _kept(file: str, source: str, codes: str) -> str:
    """The name of a file; the text of a notebook's cell is kept with the campaign."""
    if _is_file(file):
        return file
    folder = os.path.join(os.path.dirname(codes), "sources")  # noqa: PTH118, PTH120
    os.makedirs(folder, exist_ok=True)  # noqa: PTH103
    name = "".join(c if c.isalnum() or c in "-_." else "-" for c in os.path.basename(file))  # noqa: PTH119
    path = os.path.join(folder, f"{name.strip('-').removesuffix('.py')}.py")  # noqa: PTH118
    with open(path, "w", encoding="utf-8") as stream:  # noqa: PTH123
        stream.write(source)
    return path


def _is_file(name: str) -> bool:
    return os.path.exists(name)  # noqa: PTH110  pathlib is slow to load


def _adopt_locks() -> None:
    """Free locks in objects, lists and closures come under the gate, each once."""
    real, adopted = sync.real_locks(), sync.adopted
    for holder in gc.get_objects():
        if any(type(one) in real for one in gc.get_referents(holder)):
            _replace_locks(holder, real, adopted)
    for one in gc.get_objects():
        # Its methods are those of its lock, taken when it was made.
        if type(one) is threading.Condition and type(one._lock) not in real:  # type: ignore[attr-defined]
            waiters = one._waiters  # type: ignore[attr-defined]
            one.__init__(one._lock)  # type: ignore[attr-defined,misc]
            one._waiters = waiters  # type: ignore[attr-defined]


def _replace_locks(
    holder: Any, real: tuple[type, ...], adopted: Callable[[Any], Any | None]
) -> None:
    if type(holder) is CellType:
        new = adopted(holder.cell_contents)
        if new is not None:
            holder.cell_contents = new
        return
    items: Any = enumerate(holder) if type(holder) is list else None
    if items is None:
        held = holder if type(holder) is dict else getattr(holder, "__dict__", None)
        if not isinstance(held, dict) or str(held.get("__name__", "")).startswith(
            ("importlib", "_frozen_importlib", _OURS)
        ):
            return
        holder, items = held, held.items()
    for key, value in list(items):
        new = adopted(value) if type(value) in real else None
        if new is not None:
            holder[key] = new
