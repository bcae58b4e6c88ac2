# SPDX-License-Identifier: Apache-2.0
"""What runs inside a worker of dask: it hands orders to processes that it has started.

A worker may make several runs at once, each in a thread of its own. Each thread has a process for
as long as it needs one; they stay for the next orders of the same hunt.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading

import msgspec

from unsnarl.execution.cluster.messages import HostOrder, HostReply, Refusal, Setup, read, write

HOST = ("-m", "unsnarl.execution.cluster.host")
END_SECONDS = 5.0

_idle: dict[str, list[_Process]] = {}
_lock = threading.Lock()


class _Process:
    """A host, and how it began."""

    def __init__(self, setup: Setup) -> None:
        self._process = subprocess.Popen(
            [sys.executable, *HOST],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=setup.cwd,
            start_new_session=True,  # Ctrl-C is for whoever hunts
        )
        self.begun = self._ask(setup)

    def run(self, order: HostOrder) -> HostReply:
        """Make one run there."""
        return self._ask(order)

    def _ask(self, message: Setup | HostOrder) -> HostReply:
        process = self._process
        assert process.stdin and process.stdout
        with contextlib.suppress(BrokenPipeError):
            write(process.stdin, message)
        data = read(process.stdout)
        if data is None:
            text = "a worker's process ended before it replied"
            return HostReply(refusal=Refusal("server-failed", text, "", 3))
        return msgspec.msgpack.decode(data, type=HostReply)

    def end(self) -> None:
        """Its pipe ends, and then it does."""
        process = self._process
        assert process.stdin and process.stdout
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def begin(setup: bytes) -> bytes:
    """Start a process, or take one that is there; what it instrumented."""
    process = _taken(msgspec.msgpack.decode(setup, type=Setup))
    _give_back(setup, process, process.begun)
    return msgspec.msgpack.encode(process.begun)


def run(setup: bytes, order: bytes) -> list[bytes]:
    """Make the runs of an order, one after the other; all say the same if one is refused."""
    process = _taken(msgspec.msgpack.decode(setup, type=Setup))
    wanted = msgspec.msgpack.decode(order, type=HostOrder)
    replies: list[HostReply] = []
    for plan in wanted.plans:
        reply = process.begun
        if reply.refusal is None:
            reply = process.run(HostOrder((plan,), wanted.late))
        if reply.refusal is not None:
            replies = [reply] * len(wanted.plans)
            break
        replies.append(reply)
    _give_back(setup, process, reply)
    return [msgspec.msgpack.encode(one) for one in replies]


def end(key: str) -> None:
    """The hunt is over."""
    with _lock:
        processes = _idle.pop(key, [])
    for process in processes:
        process.end()


def _taken(setup: Setup) -> _Process:
    with _lock:
        idle = _idle.setdefault(setup.key, [])
        if idle:
            return idle.pop()
    return _Process(setup)


def _give_back(setup: bytes, process: _Process, reply: HostReply) -> None:
    """One that refused has ended, or will."""
    if reply.refusal is not None:
        process.end()
        return
    with _lock:
        key = msgspec.msgpack.decode(setup, type=Setup).key
        _idle.setdefault(key, []).append(process)
