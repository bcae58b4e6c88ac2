# SPDX-License-Identifier: Apache-2.0
"""Where the target's text goes: kept by the server while it prepares, then one file per run."""

from __future__ import annotations

import os

from unsnarl.probes.streams import flush_quietly


class Output:
    """Standard input, output and error of the server.

    What the target prints before the fork (at import, at collection) belongs to every run, as it
    would if each run were a process of its own. So it is kept in memory and put in front of each
    run's own output.
    """

    def __init__(self) -> None:
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        self._fd = os.memfd_create("unsnarl-output")
        os.dup2(self._fd, 1)
        os.dup2(self._fd, 2)
        self._prelude = b""
        self._copies: list[int] = []
        self._scratch: list[int] = []

    def text(self) -> str:
        """Everything printed so far."""
        return self._bytes().decode("utf-8", "replace")

    def settle(self, private_scratch: bool) -> None:
        """Look once, before the first fork, at what a run must be given of its own.

        Others may have copied descriptors 1 and 2 by now (pytest's capture, faulthandler): the
        copies must lead to the run's file too. With `private_scratch` the open files that have no
        name (pytest's capture files) are replaced in each run, since runs in flight at the same
        time would share their position.
        """
        self._prelude = self._bytes()
        ours = _identity(self._fd)
        for fd in _open_fds():
            if fd == self._fd:
                continue
            if _identity(fd) == ours:
                self._copies.append(fd)
            elif private_scratch and _is_nameless(fd):
                self._scratch.append(fd)

    def redirect(self, path: str, stdin: str) -> None:
        """In the child: send everything to the file `path`; read the file `stdin`, "" for none."""
        if stdin:
            # Opened anew: each run reads from the beginning.
            source = os.open(stdin, os.O_RDONLY)
            os.dup2(source, 0)
            os.close(source)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
        if self._prelude:
            os.write(fd, self._prelude)
        for copy in self._copies:
            # Only the standard streams are for programs that the target starts: Python's other
            # descriptors are not inherited (PEP 446).
            os.dup2(fd, copy, copy <= 2)
        os.close(fd)
        os.close(self._fd)
        for scratch in self._scratch:
            _replace(scratch)

    def _bytes(self) -> bytes:
        flush_quietly()
        return os.pread(self._fd, os.fstat(self._fd).st_size, 0)


def _identity(fd: int) -> tuple[int, int] | None:
    try:
        status = os.fstat(fd)
    except OSError:  # the descriptor that listed the folder
        return None
    return status.st_dev, status.st_ino


def _open_fds() -> list[int]:
    return [int(name) for name in os.listdir("/proc/self/fd")]  # noqa: PTH208  pathlib is slow to load


def _is_nameless(fd: int) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{fd}").endswith(" (deleted)")  # noqa: PTH115
    except OSError:
        return False


def _replace(fd: int) -> None:
    content = os.pread(fd, os.fstat(fd).st_size, 0)
    position = os.lseek(fd, 0, os.SEEK_CUR)
    fresh = os.memfd_create("unsnarl-scratch")
    if content:
        os.write(fresh, content)
    os.lseek(fresh, position, os.SEEK_SET)
    os.dup2(fresh, fd, os.get_inheritable(fd))
    os.close(fresh)
