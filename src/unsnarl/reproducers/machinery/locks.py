# SPDX-License-Identifier: Apache-2.0
"""Locks that count who takes them: only where an order is about what a library does."""

import _thread
import dis
import os
import sys
import sysconfig
import threading

from unsnarl.reproducers.machinery.events import EVENTS, THREADS, watched
from unsnarl.reproducers.machinery.holding import come, enter, leave

# ---- what libraries do with locks -----------------------------------------------------------


class Lock:
    """A lock that counts who takes it, and gives it back, inside of which call of the program."""

    make = _thread.allocate_lock

    def __init__(self):
        self._real = type(self).make()

    def acquire(self, blocking=True, timeout=-1):
        """See threading.Lock."""
        if self._is_mine():
            return self._real.acquire(blocking, timeout)
        with Doing("acquire"):
            return self._real.acquire(blocking, timeout)

    def release(self):
        """See threading.Lock."""
        with Doing("release"):
            self._real.release()

    def __enter__(self):
        return self.acquire()

    def __exit__(self, *_):
        self.release()

    def _is_mine(self):
        return False

    def __getattr__(self, name):
        return getattr(self._real, name)


class RLock(Lock):
    """The same, for who may take it again."""

    make = _thread.RLock

    def _is_mine(self):
        return self._real._is_owned()

    def _acquire_restore(self, state):
        with Doing("acquire"):
            self._real._acquire_restore(state)


class Doing:
    """What is done to a lock, if an order is about it."""

    def __init__(self, op):
        self.events, self.me = [], THREADS.get(threading.get_ident())
        frame = sys._getframe(2)
        while self.me is not None and frame is not None:
            if is_of_program(frame.f_code):
                table = watched(frame.f_code)
                offsets = [at for at in table[0] if at <= frame.f_lasti] if table else []
                found = table[0][max(offsets)] if offsets else ()
                self.events = [one for one in found if one.op == op and _is_at(one, frame)]
                break
            frame = frame.f_back

    def __enter__(self):
        if self.events:
            come(self.me, self.events)
            enter(self.me, self, self.events)

    def __exit__(self, *_):
        if self.events:
            leave(self.me, self)


def _is_at(event, frame):
    """Whether the frame is within that very instruction, not behind it."""
    rows = [row.offset for row in dis.get_instructions(frame.f_code)]
    begins = event.instructions(frame.f_code)[0]
    return max((at for at in rows if at <= frame.f_lasti), default=-1) in begins


LIBRARIES = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib"))


def is_of_program(code):
    """Neither of a library, unless an order is about that, nor of this file."""
    path = code.co_filename.replace(os.sep, "/")
    if any(path.endswith("/" + event.file) for event in EVENTS):
        return True
    packages = {event.file.partition("/")[0] for event in EVENTS if "/" in event.file}
    if any(f"/{one}/" in path for one in packages):
        return True
    return not path.startswith((*LIBRARIES, "<")) and path != __file__


def wrap_locks():
    """From now on locks are ours."""
    for module in (_thread, threading):
        for name in ("allocate_lock", "_allocate_lock", "allocate", "Lock"):
            if hasattr(module, name):
                setattr(module, name, Lock)
        for name in ("RLock", "_CRLock"):
            if hasattr(module, name):
                setattr(module, name, RLock)
