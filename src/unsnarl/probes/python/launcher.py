# SPDX-License-Identifier: Apache-2.0
"""Make the target ready to be forked, and run it: a script, a module or a session of tests.

The target must not see that it is run by us: `__main__`, sys.argv, sys.path and the frames of a
traceback are those of `python script.py`, `python -m module` and `pytest`.
"""

from __future__ import annotations

import ast
import builtins
import importlib.machinery
import os
import runpy
import sys
import types
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Protocol

from unsnarl.probes import call
from unsnarl.probes.errors import TargetError
from unsnarl.probes.python import importer, overlay
from unsnarl.probes.streams import flush_quietly

CALL = call.__name__  # `python -m` of it calls a function


class PreparedTarget(Protocol):
    """A prepared target."""

    private_scratch: bool

    def imports(self) -> Iterator[Callable[[], object]]:
        """The imports that the target makes before anything else, one by one, in order."""

    def run(self, fork_point: Callable[[], None]) -> int:
        """Call `fork_point`, which returns in a run's process only, then run to the end.

        Gives the exit status. An exception that comes out of it is the target's own.
        """


def prepare(command: dict[str, Any], cwd: str, codes: str) -> PreparedTarget:
    """Load the target of `command` ({"kind": ..., "args": [...]}), without running it.

    `codes` is the file that its sites will be listed in.
    """
    kind, args = command["kind"], list(command["args"])
    if kind == "pytest" or (kind == "module" and args[:1] == ["pytest"]):
        return _prepare_pytest(kind, args, cwd)
    if not args:
        raise TargetError("target-not-found", "the command names nothing to run")
    if kind == "module" and args[0] == "unittest":
        return _prepare_unittest(args[1:], cwd)
    if kind == "module" and args[0] == CALL:
        return _prepare_function(args, cwd, codes)
    if kind == "module":
        return _prepare_module(args, cwd)
    if kind == "script":
        return _prepare_script(args, cwd)
    raise TargetError("target-not-found", f"there is no kind of target called {kind!r}")


class _Main:
    """A script or a module: code that is executed as `__main__`."""

    private_scratch = False

    def __init__(
        self, code: types.CodeType, context: dict[str, Any], execute: Callable[[], object]
    ) -> None:
        self.code = code
        self._context = context
        self._execute = execute

    def imports(self) -> Iterator[Callable[[], object]]:
        """See PreparedTarget."""
        for name, names, level in leading_imports(_source(self.code.co_filename)):
            yield partial(__import__, name, self._context, None, names, level)

    def run(self, fork_point: Callable[[], None]) -> int:
        """See PreparedTarget."""
        fork_point()
        self._execute()
        return 0


def leading_imports(source: bytes) -> list[tuple[str, tuple[str, ...], int]]:
    """The import statements at the top of a module, as arguments (name, from-list, level).

    Only the unbroken run of a docstring and import statements counts: what comes after any other
    statement could see or change what that statement did.
    """
    steps: list[tuple[str, tuple[str, ...], int]] = []
    for index, statement in enumerate(_statements(source)):
        if isinstance(statement, ast.Import):
            steps.extend((alias.name, (), 0) for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            if statement.module != "__future__":
                names = tuple(alias.name for alias in statement.names)
                steps.append((statement.module or "", names, statement.level))
        elif not (index == 0 and _is_docstring(statement)):
            break
    return steps


def _statements(source: bytes) -> list[ast.stmt]:
    try:
        return ast.parse(source).body
    except (SyntaxError, ValueError):
        return []


def _is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _source(file: str) -> bytes:
    patched = overlay.patched_source(file)
    if patched is not None:
        return patched
    try:
        with open(file, "rb") as stream:  # noqa: PTH123  pathlib is slow to load
            return stream.read()
    except OSError:
        return b""


def _prepare_script(args: list[str], cwd: str) -> PreparedTarget:
    path = os.path.join(cwd, args[0])  # noqa: PTH118  CPython does not normalise it either
    if os.path.isdir(path) or path.endswith((".zip", ".pyz")):  # noqa: PTH112
        return _prepare_folder(path, args)
    try:
        with open(path, "rb") as stream:  # noqa: PTH123
            source = stream.read()
    except OSError as error:
        raise TargetError("target-not-found", f"cannot open {path!r}: {error.strerror}") from None
    source = overlay.patched_source(path) or source
    # As CPython does, symbolic links are followed before the folder is taken.
    _first_path(os.path.dirname(os.path.realpath(path)))  # noqa: PTH120
    _arguments(args, args)
    main = _new_main()
    loader = importlib.machinery.SourceFileLoader("__main__", path)
    # What _PyRun_SimpleFile sets; up to 3.14 `__cached__` is None for a script.
    main.update(__file__=path, __loader__=loader)
    if sys.version_info < (3, 15):
        main["__cached__"] = None
    try:
        code = compile(source, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise _import_failed(path, error) from error
    code = importer.instrument(code, "__main__", path)

    def execute() -> None:
        try:
            exec(code, main)
        finally:
            flush_quietly()  # CPython does, before the traceback of a script, not of a module

    return _Main(code, main, execute)


def _prepare_module(args: list[str], cwd: str) -> PreparedTarget:
    _first_path(cwd)
    # sys.argv[0] is "-m" until runpy has found the module, and then puts the file there.
    _arguments(["-m", *args[1:]], ["-m", *args])
    _new_main()
    return _runpy_target(args[0], runpy._get_module_details, True)  # type: ignore[attr-defined]


def _prepare_folder(path: str, args: list[str]) -> PreparedTarget:
    _first_path(path)
    _arguments(args, args)
    _new_main()

    def find(_: str, error: type[Exception]) -> Any:
        return runpy._get_main_module_details(error)  # type: ignore[attr-defined]

    return _runpy_target("__main__", find, False)


def _runpy_target(name: str, find: Callable[..., Any], alter_argv: bool) -> PreparedTarget:
    """Let runpy run the module, so that its frames are in tracebacks as they always are."""
    try:
        full_name, spec, code = find(name, runpy._Error)  # type: ignore[attr-defined]
    except runpy._Error as error:  # type: ignore[attr-defined]
        raise TargetError("target-not-found", f"{sys.executable}: {error}") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _import_failed(name, error) from error
    code = overlay.patched_code(code)
    # `python -m` may name a library's module, which is then run without probes.
    if importer.covers(code.co_filename, full_name):
        code = importer.instrument(code, "__main__", code.co_filename)
    finder = "_get_module_details" if alter_argv else "_get_main_module_details"

    def execute() -> None:
        original = getattr(runpy, finder)

        def found(*_: object) -> Any:
            # Once only: the target may use runpy itself.
            setattr(runpy, finder, original)
            return full_name, spec, code

        setattr(runpy, finder, found)
        runpy._run_module_as_main(name, alter_argv)  # type: ignore[attr-defined]

    context = {"__name__": "__main__", "__package__": spec.parent, "__spec__": spec}
    return _Main(code, context, execute)


def _prepare_pytest(kind: str, args: list[str], cwd: str) -> PreparedTarget:
    if kind == "module":
        args = args[1:]
        _first_path(cwd)
    elif not sys.flags.safe_path:
        # the command `pytest` does not have the current folder on its path: its own is there
        sys.path.insert(0, os.path.dirname(sys.executable))  # noqa: PTH120
    _arguments(["pytest", *args], ["pytest", *args])
    _new_main()
    try:
        from unsnarl.probes.python import pytest_session  # noqa: PLC0415  only where wanted
    except ImportError as error:
        if error.name != "pytest":
            raise
        raise TargetError(
            "target-not-found", f"pytest is not installed for {sys.executable}"
        ) from None
    return pytest_session.PytestTarget(args)


def _prepare_unittest(args: list[str], cwd: str) -> PreparedTarget:
    _first_path(cwd)
    name = sys.executable.rpartition("/")[2] + " -m unittest"
    _arguments([name, *args], ["-m", "unittest", *args])
    _new_main()
    from unsnarl.probes.python import unittest_session  # noqa: PLC0415  only where wanted

    return unittest_session.UnittestTarget(args)


def _prepare_function(args: list[str], cwd: str, codes: str) -> PreparedTarget:
    from unsnarl.probes.python import called  # noqa: PLC0415  only where wanted

    if call.given() is None:  # else the process is the caller's, with paths of its own
        _first_path(cwd)
        _arguments([CALL, *args[1:]], ["-m", *args])
        _new_main()
    name = args[1] if len(args) > 1 else ""
    try:
        return called.CalledFunction(name, codes)
    except (KeyboardInterrupt, TargetError):
        raise
    except BaseException as error:
        raise _import_failed(name, error) from error


def _import_failed(what: str, error: BaseException) -> TargetError:
    tb = error.__traceback__
    while tb is not None and _is_launch_frame(tb.tb_frame.f_code):
        tb = tb.tb_next
    error.__traceback__ = tb
    sys.excepthook(type(error), error, tb)
    return TargetError(
        "target-import-failed", f"{what} cannot be loaded: {type(error).__name__}: {error}"
    )


def _is_launch_frame(code: types.CodeType) -> bool:
    return code.co_filename == __file__


def _first_path(folder: str) -> None:
    if not sys.flags.safe_path:
        sys.path.insert(0, folder)
        _forget_shadowed(folder)


def _forget_shadowed(folder: str) -> None:
    """Let the target's own `queue.py` win over the standard one that we have imported."""
    try:
        entries = set(os.listdir(folder))  # noqa: PTH208  pathlib is slow to load
    except OSError:
        return
    names = [
        name
        for name in sys.modules
        if "." not in name
        and (f"{name}.py" in entries or name in entries)
        and _can_be_shadowed(name, folder)
    ]
    for name in names:
        for loaded in [key for key in sys.modules if f"{key}.".startswith(f"{name}.")]:
            del sys.modules[loaded]


def _can_be_shadowed(name: str, folder: str) -> bool:
    if name in ("__main__", "encodings", "unsnarl"):
        return False
    spec = importlib.machinery.PathFinder.find_spec(name, [folder])
    standard = getattr(sys.modules[name], "__spec__", None)
    if spec is None or spec.loader is None or standard is None:
        return False  # a folder without __init__.py loses against a module
    # builtin and frozen modules are found before any folder is searched
    return standard.origin not in ("built-in", "frozen", spec.origin)


def _arguments(argv: list[str], command: list[str]) -> None:
    sys.argv = list(argv)
    sys.orig_argv = [sys.executable, *command]


def _new_main() -> dict[str, Any]:
    """A fresh `__main__`, as the interpreter has it before it runs anything; gives its names."""
    main = types.ModuleType("__main__")
    names = main.__dict__
    # As add_main_module (pylifecycle.c) does it.
    names["__loader__"] = importlib.machinery.BuiltinImporter
    if sys.version_info < (3, 14):  # later they are made when somebody asks for them
        names["__annotations__"] = {}
    names["__builtins__"] = builtins
    sys.modules["__main__"] = main
    return names
