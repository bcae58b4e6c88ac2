# SPDX-License-Identifier: Apache-2.0
"""Fixtures of modules and sessions, made once before the runs are forked.

Not all can be: a thread that one starts would be missing in the runs, a connection or a folder that
it opens would be shared by them, and the teardown of one run would take it from the others. So they
are tried in a process of their own, which notes what they do besides computing (docs/adr/0071). The
server makes those before the first that does more; the rest is made in every run.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import random
import select
import signal
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

import pytest

_SCOPES = ("session", "package", "module")
# They are objects of pytest: nothing is gained by making them.
_TRIVIAL = frozenset({"pytestconfig", "tmp_path_factory", "tmpdir_factory", "doctest_namespace"})
_TRIAL_SECONDS = 20.0
# What leaves the process, by the names of audit events.
_OUTSIDE = (
    "socket.", "subprocess.", "sqlite3.", "shutil.", "tempfile.", "fcntl.", "ctypes.", "mmap.",
    "os.fork", "os.exec", "os.spawn", "os.posix_spawn", "os.system", "os.mkdir", "os.rename",
    "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chdir", "os.chmod",
    "os.kill", "signal.", "pty.",
)  # fmt: skip
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def make_ahead(session: pytest.Session) -> None:
    """Make the wide fixtures that the first test of the session needs, as far as that is safe."""
    item = session.items[0]
    names = list(_wide(item))
    for name in names[: _count_harmless(item, names)] if names else ():
        try:
            _make(item, name)
        except BaseException:  # in the trial it did not: let the runs see
            _forget_exceptions(item, names)
            return


def _wide(item: pytest.Item) -> Iterator[str]:
    """The names of fixtures that outlive the test, in the order in which pytest makes them."""
    info = getattr(item, "_fixtureinfo", None)
    if info is None or item.getparent(pytest.Module) is None:
        return
    for name in info.names_closure:
        found = info.name2fixturedefs.get(name)
        if found and found[-1].scope in _SCOPES and name not in _TRIVIAL:
            yield name


def _make(item: Any, name: str) -> None:
    """As pytest would when it sets up the test: the module is active, and so is the test."""
    random.seed(0)  # a replay in another process gets the same
    state = item.session._setupstate
    module = item.getparent(pytest.Module)
    if module not in state.stack:
        state.setup(module)
    state.stack[item] = ([], None)
    try:
        item._request.getfixturevalue(name)
    finally:
        del state.stack[item]


def _forget_exceptions(item: Any, names: list[str]) -> None:
    """Fixtures keep what they raised; the runs are to make them anew."""
    for name in names:
        for one in item._fixtureinfo.name2fixturedefs[name]:
            if one.cached_result is not None and one.cached_result[2] is not None:
                one.cached_result = None


def _count_harmless(item: pytest.Item, names: list[str]) -> int:
    """How many of them, from the first on, only compute: tried in a process of its own."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(read)
        _try(item, names, write)
    os.close(write)
    count = 0
    while select.select([read], [], [], _TRIAL_SECONDS)[0]:
        if not os.read(read, 1):
            break
        count += 1
    else:
        os.kill(pid, signal.SIGKILL)
    os.close(read)
    os.waitpid(pid, 0)
    return count


def _try(item: Any, names: list[str], write: int) -> NoReturn:
    """In the process of the trial: one byte for each that is harmless, then all is taken down."""
    with contextlib.suppress(BaseException):
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        watch = _Watch()
        for name in names:
            _make(item, name)
            if watch.has_seen():
                break
            os.write(write, b".")
        item.session._setupstate.teardown_exact(None)
    os._exit(0)


class _Watch:
    """Notes what code does besides computing. An audit hook stays: only for a process to end."""

    def __init__(self) -> None:
        self._seen = False
        self._before = self._state()
        sys.addaudithook(self._audit)

    @staticmethod
    def _state() -> tuple[int, list[str]]:
        # pathlib is slow to load
        return _thread._count(), sorted(os.listdir("/proc/self/fd"))  # noqa: PTH208

    def has_seen(self) -> bool:
        """Whether anything left the process, a thread was started or a descriptor is open."""
        return self._seen or self._state() != self._before

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            is_cache = "__pycache__" in str(args[0])  # of an import
            self._seen = self._seen or (bool((args[2] or 0) & _WRITING) and not is_cache)
        elif event.startswith(_OUTSIDE) and not (args and "__pycache__" in str(args[0])):
            self._seen = True
