# SPDX-License-Identifier: Apache-2.0
"""`fcntl.flock` of the target, put under the gate: native/binding/file_locks.c, docs/adr/0061.

Locks of `fcntl.lockf` belong to the whole process: no thread of it ever waits for another one's.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from unsnarl import _core

try:
    import fcntl
except ImportError:  # not on every system
    fcntl = None  # type: ignore[assignment]

_real_flock: Callable[[Any, int], None] | None = getattr(fcntl, "flock", None)
# By device and number of a file: the lock that stands for it.
_locks: dict[tuple[int, int], Any] = {}


def install() -> None:
    """Replaces the function, once."""
    if _real_flock is not None:
        fcntl.flock = _flock


def _flock(fd: Any, operation: int, /) -> None:
    """`fcntl.flock`: who would block waits at the gate."""
    assert _real_flock is not None
    try:
        number = fd if isinstance(fd, int) else int(fd.fileno())
        lock = _lock_of(number)
    except (OSError, AttributeError, TypeError, ValueError):
        _real_flock(fd, operation)  # says what is wrong
        return
    if _core.flock(lock, number, operation) is None:
        _real_flock(fd, operation)


def _lock_of(number: int) -> Any:
    file = os.fstat(number)
    return _locks.setdefault((file.st_dev, file.st_ino), _core.Lock())
