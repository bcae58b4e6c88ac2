# SPDX-License-Identifier: Apache-2.0
"""Functions of this process as targets: the fork server is then a fork of this very process."""

from __future__ import annotations

import contextlib
import inspect
import os
import signal
import subprocess
import sys
import time
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from socket import socket
from typing import IO, Any, NoReturn

from unsnarl.probes import call
from unsnarl.probes.server import service

Function = Callable[[], object]
POLL_SECONDS = 0.005

_functions: dict[str, Function] = {}
# Our ends of the lines to servers: a fork that kept one would hide that we have hung up.
_lines: weakref.WeakSet[socket] = weakref.WeakSet()


def command_of(function: Function) -> tuple[str, ...]:
    """The command that calls a function of this process, which is remembered for it."""
    name = _name(function)
    _functions[name] = function
    return (sys.executable, "-m", call.__name__, name)


def function_of(args: tuple[str, ...]) -> Function | None:
    """The function of this process that a target's arguments name, if there is one."""
    return _functions.get(args[1]) if len(args) > 1 and args[0] == call.__name__ else None


def file_of(args: tuple[str, ...]) -> Path | None:
    """The file of such a function, if it has one."""
    function = function_of(args)
    if function is None:
        return None
    with contextlib.suppress(TypeError):
        file = Path(inspect.getfile(_inner(function))).resolve()
        return file if file.is_file() else None
    return None


def _inner(function: Any) -> Any:
    """What a decorator or `partial` is around; the class of an object that can be called."""
    while hasattr(function, "__wrapped__") or hasattr(function, "func"):
        function = getattr(function, "__wrapped__", None) or function.func
    return function if hasattr(function, "__qualname__") else type(function)


def _name(function: Any) -> str:
    """MODULE:FUNCTION; a script goes by its file, since `__main__` is something else elsewhere."""
    function = _inner(function)
    path, module = function.__qualname__, function.__module__
    if module == "__main__":
        with contextlib.suppress(TypeError):
            file = Path(inspect.getfile(function))
            module = str(file.resolve()) if file.is_file() else module
    return f"{module}:{path}"


class ForkedProcess:
    """A fork of this process, with the methods of `Popen` that are needed of a server."""

    def __init__(self, function: Function, theirs: socket, log: IO[bytes]) -> None:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, OSError, ValueError):
                stream.flush()  # else the child would print it, too
        with warnings.catch_warnings():
            # Other threads of this process are missing in the child, which does not use them.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if self.pid == 0:
            _become_server(function, theirs, log)
        self._status: int | None = None

    def poll(self) -> int | None:
        """How it ended, if it did."""
        if self._status is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                pid, status = self.pid, 0  # somebody else has waited for it
            if pid:
                self._status = os.waitstatus_to_exitcode(status)
        return self._status

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; raises TimeoutExpired."""
        limit = None if timeout is None else time.monotonic() + timeout
        while (status := self.poll()) is None:
            if limit is not None and time.monotonic() > limit:
                raise subprocess.TimeoutExpired("fork", timeout or 0.0)
            time.sleep(POLL_SECONDS)
        return status

    def kill(self) -> None:
        """End it at once."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


def remember_line(ours: socket) -> None:
    """Our end of the line to a server, which no later server may keep open."""
    _lines.add(ours)


def _become_server(function: Function, theirs: socket, log: IO[bytes]) -> NoReturn:
    try:
        os.setsid()
        for line in list(_lines):
            line.close()
        null = os.open(os.devnull, os.O_RDONLY)
        for source, number in ((null, 0), (log.fileno(), 1), (log.fileno(), 2)):
            os.dup2(source, number)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        service.serve_function(theirs.fileno(), function)
    finally:
        os._exit(1)  # whatever happens, no second caller comes out of here
