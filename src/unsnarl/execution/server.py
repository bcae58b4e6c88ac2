# SPDX-License-Identifier: Apache-2.0
"""The fork server as the parent sees it: its process, its socket, and the lines it replies with."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from unsnarl.errors import ToolError
from unsnarl.execution import functions
from unsnarl.execution.addresses import steady_addresses
from unsnarl.execution.disk import storing
from unsnarl.execution.target import Target

SERVER = ("-m", "unsnarl.probes.server")
CLOSE_SECONDS = 2.0
# For killed processes to be gone; one in an uninterruptible system call may take longer.
KILL_SECONDS = 5.0
LOG = "server.log"


class Ready(msgspec.Struct, frozen=True):
    """What the server instrumented."""

    modules: int = 0
    probes: int = 0
    python: str = ""
    seconds: float = 0.0
    threads: int = 0  # started by the target's imports, and missing in the runs


class Done(msgspec.Struct, frozen=True):
    """How one run ended, as seen from outside it."""

    number: int
    status: int = 0
    signal: int = 0
    seconds: float = 0.0
    timed_out: bool = False


class ServerError(msgspec.Struct, frozen=True):
    """Why the server cannot go on; `errno` is 0 unless the system refused something."""

    slug: str = "server-failed"
    message: str = ""
    output: str = ""
    errno: int = 0


class Reply(msgspec.Struct, frozen=True):
    """One line from the server; one of the fields is set."""

    ready: Ready | None = None
    done: Done | None = None
    error: ServerError | None = None


class Server:
    """One fork server process and the socket to it."""

    def __init__(self, target: Target, folder: Path) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket = ours
        functions.remember_line(ours)
        self._pending = b""
        self._decoder = msgspec.json.Decoder(Reply)
        self.process: subprocess.Popen[bytes] | functions.ForkedProcess
        python = [target.python.executable, *target.flags, *SERVER]
        # Our copy of the server's end is closed: while it is open, a death shows no end of file.
        with theirs, storing(folder), (folder / LOG).open("ab") as log, steady_addresses():
            function = functions.function_of(target.args)
            if function is not None:
                self.process = functions.ForkedProcess(function, theirs, log)
                return
            self.process = subprocess.Popen(
                [*python, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=target.cwd,
                # Sets and dicts of strings keep their order from server to server: a replay in
                # another process would leave the schedule otherwise.
                env=os.environ | {"PYTHONHASHSEED": "0"},
                # By the session `descendants` finds all runs, also when the server has died.
                start_new_session=True,
            )

    def send(self, message: dict[str, Any]) -> None:
        """Send one message; a dead server shows when it is read from."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.socket.sendall(msgspec.json.encode(message) + b"\n")

    def receive(self) -> list[Reply] | None:
        """The replies that have arrived; None once the server is gone."""
        try:
            data = self.socket.recv(1 << 16)
        except ConnectionResetError:
            data = b""
        if not data:
            return None
        *lines, self._pending = (self._pending + data).split(b"\n")
        return [self._decode(line) for line in lines if line.strip()]

    def _decode(self, line: bytes) -> Reply:
        try:
            return self._decoder.decode(line)
        except msgspec.MsgspecError as error:
            raise ToolError(
                "server-failed", f"cannot understand the fork server: {error}"
            ) from None

    def close(self) -> None:
        """Ask the server to end by closing the socket, then make sure of it."""
        self.socket.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(CLOSE_SECONDS)
        self.kill()

    def kill(self) -> None:
        """Kill the server and all its runs, and wait until none of them can write any more.

        Those that left the session are found only while the server lives; one that forks while it
        is being killed is found by looking once more.
        """
        self.socket.close()
        limit = time.monotonic() + KILL_SECONDS
        found = descendants(self.process.pid)
        self.process.kill()
        while True:
            _kill(found, limit)
            found = descendants(self.process.pid)
            if not found or time.monotonic() > limit:
                break
        self.process.wait()  # last: the pid must not go to somebody else before


def _kill(pids: Iterable[int], limit: float) -> None:
    """Kill processes and wait for their ends: a signal alone does not say when one is gone."""
    with contextlib.ExitStack() as stack:
        # By handle: a process number may belong to another process by the time it is waited for.
        handles = []
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                handle = os.pidfd_open(pid)
                stack.callback(os.close, handle)
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                handles.append(handle)
        for handle in handles:
            end = select.poll()
            end.register(handle, select.POLLIN)
            end.poll(max(0.0, limit - time.monotonic()) * 1000)


def descendants(pid: int) -> list[int]:
    """All living processes below `pid` or in its session, by what /proc says of each.

    Runs have process groups of their own but stay in the server's session, also when it has died.
    """
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                state, parent, _, session = _status(entry)
                if state not in "ZX":
                    above = pid if int(session) == pid else int(parent)
                    children.setdefault(above, []).append(int(entry.name))
    found: list[int] = []
    todo = [pid]
    while todo:
        below = [child for child in children.get(todo.pop(), []) if child != pid]
        found += below
        todo += below
    return found


def _status(entry: Path) -> list[str]:
    """State, parent, process group and session; the command's name before them may hold spaces."""
    return (entry / "stat").read_text().rpartition(")")[2].split()[:4]
