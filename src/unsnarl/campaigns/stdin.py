# SPDX-License-Identifier: Apache-2.0
"""Standard input of the runs: every one reads all of what the user gave, from its beginning.

It is copied into the campaign's folder, because a replay on another day must read the same.
"""

from __future__ import annotations

import fcntl
import os
import select
import stat
import struct
import termios
import time
from pathlib import Path

from unsnarl.errors import UsageError

FILE = "stdin"
MOST_BYTES = 64 << 20
# For what writes into a pipe to come to its end; `generate | unsnarl hunt` has begun by now.
PIPE_SECONDS = 5.0


def keep_stdin(folder: Path, fd: int = 0) -> Path | None:
    """Copy what there is on standard input; None if that is a terminal, or nothing.

    A pipe into which nothing was written is taken for nothing: it may belong to a CI system.

    Raises:
        UsageError: It is too much, or the pipe does not end.
    """
    data = _content(fd)
    if not data:
        return None
    (folder / FILE).write_bytes(data)
    return folder / FILE


def _content(fd: int) -> bytes:
    try:
        mode = os.fstat(fd).st_mode
    except OSError:  # closed
        return b""
    if stat.S_ISREG(mode):
        # Not from where others stand in it, and without moving them: a shell script's own input.
        start = os.lseek(fd, 0, os.SEEK_CUR)
        return _checked(os.pread(fd, MOST_BYTES + 1, start))
    if stat.S_ISFIFO(mode) and _pending(fd):
        return _to_the_end(fd)
    return b""


def _pending(fd: int) -> int:
    answer = fcntl.ioctl(fd, termios.FIONREAD, struct.pack("i", 0))
    return int(struct.unpack("i", answer)[0])


def _to_the_end(fd: int) -> bytes:
    data, limit = b"", time.monotonic() + PIPE_SECONDS
    while len(data) <= MOST_BYTES:
        ready, _, _ = select.select([fd], [], [], max(0.0, limit - time.monotonic()))
        if not ready:
            raise _refused("the pipe on standard input does not end")
        some = os.read(fd, 1 << 20)
        if not some:
            return data
        data += some
    return _checked(data)


def _checked(data: bytes) -> bytes:
    if len(data) > MOST_BYTES:
        raise _refused(f"standard input has more than {MOST_BYTES >> 20} MiB")
    return data


def _refused(why: str) -> UsageError:
    return UsageError(
        "stdin-refused", why, "every run needs all of it: give a file (< FILE), or < /dev/null"
    )
