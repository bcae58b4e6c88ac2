# SPDX-License-Identifier: Apache-2.0
"""The process that a worker starts: the local engine with one run at a time, fed over a pipe.

The target is never in the worker itself: what it does to its process, it does to a fork of this
one's fork server. When the worker ends, however it does, the pipe ends, and so does this.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import select
import tempfile
import traceback
from pathlib import Path
from typing import IO

import msgspec

from unsnarl.errors import EXIT_TOOL, UnsnarlError
from unsnarl.execution import target as targets
from unsnarl.execution.cluster.messages import HostOrder, HostReply, Refusal, Setup, read, write
from unsnarl.execution.engine import Engine
from unsnarl.execution.server import Done
from unsnarl.execution.target import Target
from unsnarl.model.plan import Plan
from unsnarl.runfile.codes import LATE_SUFFIX

# Whoever hunts may have been killed: nobody waits for this process then.
IDLE_SECONDS = 600.0


class Host:
    """One engine, and the folder that it works in."""

    def __init__(self, setup: Setup, folder: Path) -> None:
        self._folder = folder
        self._include = setup.include
        found = targets.parse(setup.command, Path(setup.cwd), force_python=setup.force_python)
        self._target = _with_stdin(found, setup, folder)
        self._engine = self._started()
        self._digest = hashlib.sha256(self._engine.codes.read_bytes()).digest()

    def _started(self) -> Engine:
        return Engine(self._target, self._folder, 1, self._include).__enter__()

    @property
    def _late(self) -> Path:
        return self._engine.codes.with_name(self._engine.codes.name + LATE_SUFFIX)

    def ready(self) -> HostReply:
        """What was instrumented, and the list of sites."""
        engine = self._engine
        return HostReply(
            ready=engine.ready, codes=engine.codes.read_bytes(), late=self._late_codes()
        )

    def run(self, order: HostOrder) -> HostReply:
        """Make one run."""
        self._agree(order.late)
        asked = msgspec.json.decode(order.plans[0], type=Plan)
        file, output = self._folder / "one.run", self._folder / "one.out"
        for path in (file, output):
            path.unlink(missing_ok=True)
        self._engine.submit(msgspec.structs.replace(asked, file=str(file), output=str(output)))
        done: list[Done] = []
        while not done:
            done = self._engine.wait(1.0)
        return HostReply(
            done=done[0],
            codes=self._digest,
            late=self._late_codes(),
            file=_content(file),
            output=_content(output),
            deaths=self._engine.deaths,
        )

    def close(self) -> None:
        """End the fork server."""
        self._engine.__exit__()

    def _late_codes(self) -> bytes:
        return _content(self._late) or b""

    def _agree(self, late: bytes) -> None:
        """Late code has the ids here that it has elsewhere (docs/adr/0026).

        What others have found is added. If this host has given such an id to other code, nothing
        that it has loaded so far can be used: its server begins anew.
        """
        own = self._late_codes()
        if own.startswith(late):
            return
        if late.startswith(own):
            with self._late.open("ab") as file:
                file.write(late[len(own) :])
            return
        self.close()
        self._late.write_bytes(late)
        self._engine = self._started()


class Pipe:
    """A pipe whose `read` gives all that was asked for, and which `select` can wait for."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def fileno(self) -> int:
        """For `select`."""
        return self._descriptor

    def read(self, length: int) -> bytes:
        """So many bytes; fewer at the end."""
        parts = []
        while length and (part := os.read(self._descriptor, min(length, 1 << 20))):
            parts.append(part)
            length -= len(part)
        return b"".join(parts)


def _with_stdin(found: Target, setup: Setup, folder: Path) -> Target:
    if setup.stdin is None:
        return found
    (folder / "stdin").write_bytes(setup.stdin)
    return dataclasses.replace(found, stdin=folder / "stdin")


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _refusal(error: Exception) -> HostReply:
    if isinstance(error, UnsnarlError):
        return HostReply(refusal=Refusal(error.slug, error.message, error.hint, error.exit_code))
    traceback.print_exception(error)
    text = f"a worker's process failed: {error!r}"
    return HostReply(refusal=Refusal("server-failed", text, "", EXIT_TOOL))


def serve(source: Pipe, sink: IO[bytes]) -> None:
    """Make runs until nobody wants any more."""
    first = read(source)
    if first is None:
        return
    with tempfile.TemporaryDirectory(prefix="unsnarl-host-") as folder:
        try:
            host = Host(msgspec.msgpack.decode(first, type=Setup), Path(folder))
        except Exception as error:  # whatever it is, the user must see it
            write(sink, _refusal(error))
            return
        try:
            write(sink, host.ready())
            while select.select([source], [], [], IDLE_SECONDS)[0] and (data := read(source)):
                try:
                    write(sink, host.run(msgspec.msgpack.decode(data, type=HostOrder)))
                except Exception as error:
                    write(sink, _refusal(error))
                    return
        finally:
            host.close()


def main() -> None:
    """Serve over standard input and output, which nobody else gets."""
    # Unbuffered: `select` must not miss what a buffer has.
    source = Pipe(os.dup(0))
    sink = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    serve(source, sink)


if __name__ == "__main__":
    main()
