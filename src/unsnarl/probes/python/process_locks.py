# SPDX-License-Identifier: Apache-2.0
"""Locks of `multiprocessing`, put under the gate: threads use them against each other, too.

Such a lock is a semaphore of the kernel's. A thread takes a lock of the gate's that stands for it
first, so that who waits for whom is known, and then the semaphore, which is free unless another
process has it (docs/adr/0095).
"""

from __future__ import annotations

import contextlib
import sys
import time
from typing import Any

from unsnarl import _core

try:
    from _multiprocessing import SemLock as _Real  # type: ignore[import-not-found]
except ImportError:  # not every system has semaphores
    _Real = None
_RECURSIVE = 0  # multiprocessing.synchronize.RECURSIVE_MUTEX


class _Process:
    # False in a process that the target forked: the gate's locks are copies there.
    is_gated = True


class SemLock(_Real or object):  # type: ignore[misc]
    """`_multiprocessing.SemLock`; one that several may hold at once is left to the kernel."""

    def acquire(self, block: bool = True, timeout: float | None = None) -> bool:
        """As the real one; who would block waits at the gate."""
        gate = self._gate()
        if gate is None:
            return bool(super().acquire(block, timeout))
        limit = -1.0 if timeout is None or not block else max(timeout, 0.0)
        start = time.monotonic()
        if not gate.acquire(block, limit):
            return False
        got: bool = False
        try:
            got = super().acquire(False)
            if not got and block:  # another process has it
                left = None if limit < 0 else max(limit - (time.monotonic() - start), 0.0)
                got = super().acquire(True, left)
        finally:
            if not got:
                gate.release()
        return got

    def release(self) -> None:
        """As the real one, which says what is wrong."""
        super().release()
        gate = self._gate()
        if gate is not None:
            # Taken by another process, which let it be released here.
            with contextlib.suppress(RuntimeError):
                gate.release()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *error: object) -> None:
        self.release()

    def _gate(self) -> Any:
        if self.maxvalue != 1 or not _Process.is_gated:
            return None
        kept = self.__dict__.get("gate")
        if kept is None:
            new = _core.RLock() if self.kind == _RECURSIVE else _core.Lock()
            kept = self.__dict__.setdefault("gate", new)
        return kept


# As the target sees it: in what it prints, and in what it looks for.
SemLock.__module__, SemLock.__qualname__ = "_multiprocessing", "SemLock"


def install() -> None:
    """Replaces the type, once."""
    if _Real is not None:
        sys.modules["_multiprocessing"].SemLock = SemLock  # type: ignore[attr-defined]


def leave() -> None:
    """In a process that the target forked: the kernel's semaphores alone are shared with others."""
    _Process.is_gated = False


def gate_of(value: object) -> object | None:
    """What stands for a lock of multiprocessing at the gate; None for anything else."""
    try:
        attributes = object.__getattribute__(value, "__dict__")
    except Exception:
        return None
    semaphore = attributes.get("_semlock") if type(attributes) is dict else None
    return semaphore.__dict__.get("gate") if type(semaphore) is SemLock else None
