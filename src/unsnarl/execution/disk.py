# SPDX-License-Identifier: Apache-2.0
"""A full or unwritable disk: recognised by the error's number, reported in one clear message.

The number is what the system says; its text depends on the language, and a target may print
anything.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path

from unsnarl.errors import ToolError

# No space, no quota, and a limit on the size of files.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
UNWRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.ENOENT)
# More than a usual run file, so that a disk on which only small files still fit counts as full.
PROBE_BYTES = 1 << 16


def is_full(number: int) -> bool:
    """Whether this errno says that there is no room left."""
    return number in FULL


@contextlib.contextmanager
def storing(folder: Path) -> Iterator[None]:
    """Turn a full disk and an unwritable folder into one clear message each."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise disk_full(folder, error) from None
        if error.errno in UNWRITABLE:
            raise not_writable(folder, error) from None
        raise


def check_room(folder: Path) -> None:
    """Raise `disk-full` if no file can be written in `folder`: the file system is asked."""
    probe = folder / "room.probe"
    with storing(folder):
        try:
            probe.write_bytes(bytes(PROBE_BYTES))
        finally:
            probe.unlink(missing_ok=True)


def disk_full(folder: Path, error: object) -> ToolError:
    """The error for a disk, or a limit on file sizes, that is used up."""
    return ToolError(
        "disk-full",
        f"no room left to write in {folder} ({error}); the runs stored so far are complete",
        "free some space, then: unsnarl hunt --resume",
    )


def not_writable(folder: Path, error: object) -> ToolError:
    """The error for a folder that may not be written."""
    return ToolError(
        "not-writable",
        f"cannot write {folder}: {error}",
        "run from a directory that you may write",
    )
