# SPDX-License-Identifier: Apache-2.0
"""What the engine of a cluster, its workers and the processes that they start send each other."""

from __future__ import annotations

import struct
from typing import IO, Protocol

import msgspec

from unsnarl.execution.server import Done, Ready

_LENGTH = struct.Struct("<Q")


class Setup(msgspec.Struct, frozen=True):
    """Which target, as the user named it: a worker finds out the rest where it is.

    Attributes:
        key: Names the hunt; processes of another one are not used for it.
        stdin: What every run reads.
    """

    key: str
    command: tuple[str, ...]
    cwd: str
    include: tuple[str, ...] = ()
    force_python: bool = False
    stdin: bytes | None = None


class HostOrder(msgspec.Struct, frozen=True):
    """Runs to make; `late`: the code that runs have loaded so far, with its ids."""

    plans: tuple[bytes, ...]
    late: bytes = b""


class Refusal(msgspec.Struct, frozen=True):
    """An error for the user."""

    slug: str
    message: str
    hint: str
    exit_code: int


class HostReply(msgspec.Struct, frozen=True):
    """What came of a run or, without `done`, of the setup.

    Attributes:
        codes: The list of sites; of a run only a digest of it.
        late: The code that runs have loaded by themselves here.
        file: The run file, if the run has left one; `output`: what it printed.
    """

    done: Done | None = None
    ready: Ready | None = None
    codes: bytes = b""
    late: bytes = b""
    file: bytes | None = None
    output: bytes | None = None
    deaths: int = 0
    refusal: Refusal | None = None


def write(stream: IO[bytes], message: msgspec.Struct) -> None:
    """Send one message."""
    data = msgspec.msgpack.encode(message)
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


class ByteSource(Protocol):
    """What messages are read from."""

    def read(self, length: int, /) -> bytes:
        """So many bytes; fewer at the end."""


def read(stream: ByteSource) -> bytes | None:
    """The next message; None at the end, also in the middle of one."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    data = stream.read(length)
    return data if len(data) == length else None
