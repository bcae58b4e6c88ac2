# SPDX-License-Identifier: Apache-2.0
"""Site ids of code that runs load by themselves: the same in every run of a campaign.

All runs share one file. The first one to load a piece of code gives it ids and adds a line; the
others find it there (docs/adr/0026). What cannot be shared gets ids that only its own run knows.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any, NamedTuple

SUFFIX = ".late"
# Not the one that the target finds, which waits at the gate (file_locks.py): what is locked here is
# unlocked by closing, and no thread of the run may notice.
_flock = fcntl.flock


class LateModule(NamedTuple):
    """A module that a run has loaded; `among`: other threads ran meanwhile."""

    name: str
    file: str
    among: bool


class LateCodes:
    """The shared ids from `first` up to `limit`.

    Attributes:
        modules: Those that some run has loaded and rewritten (late_modules.py).
    """

    def __init__(self, path: str, first: int, limit: int) -> None:
        self._path = path
        self._limit = limit
        self._next = first
        self._read = 0
        self._bases: dict[str, int] = {}
        self._loaded: Counter[str] = Counter()
        self._only_agreed = False
        self.modules: list[LateModule] = []

    def begin(self, identity: str) -> None:
        """In the server: keep the file of an earlier server if the code is the same."""
        head = json.dumps({"codes": identity}).encode() + b"\n"
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            if os.pread(descriptor, len(head), 0) != head:
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, head, 0)
        finally:
            os.close(descriptor)

    def catch_up(self) -> None:
        """In the server, before a fork: what is read here need not be read by each run."""
        try:
            if os.stat(self._path).st_size == self._read:  # noqa: PTH116  pathlib is slow to load
                return
            descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return
        try:
            self._read_lines(descriptor)
        finally:
            os.close(descriptor)

    def base_of(self, code: CodeType, describe: Callable[[], dict[str, Any]]) -> int | None:
        """The first id of a code object; None if there is no room, or the file cannot be used.

        The same code loaded twice in one run is two pieces of code, as it is before the fork. It is
        described only to the first run that loads it.
        """
        name = _name(code)
        self._loaded[name] += 1
        key = f"{name}/{self._loaded[name]}"
        if key in self._bases:
            return self._bases[key]
        if self._only_agreed:
            raise ValueError("no run has loaded this code")
        try:
            return self._agreed(key, describe)
        except OSError:  # a full disk, a sandbox: the run goes on with ids of its own
            return None

    @contextmanager
    def only_agreed(self) -> Iterator[Counter[str]]:
        """For code that is not loaded yet: it gets the ids that its first copy has in runs.

        Code that has none raises. Gives what would be loaded with it.
        """
        before, self._loaded = self._loaded, Counter()
        self._only_agreed = True
        try:
            yield self._loaded
        finally:
            self._loaded, self._only_agreed = before, False

    def may_load(self, names: Counter[str]) -> bool:
        """In a run: whether this is the first copy of such code; if so, it counts as loaded."""
        if any(name in self._loaded for name in names):
            return False
        self._loaded.update(names)
        return True

    def note_module(self, module: LateModule) -> None:
        """In a run: other runs will load this module, too."""
        if module in self.modules:
            return
        line = json.dumps({"module": module}) + "\n"
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        except OSError:
            return
        try:
            _flock(descriptor, fcntl.LOCK_EX)
            self._catch_up(descriptor)
            if module not in self.modules:
                os.write(descriptor, line.encode())
        except OSError:
            pass
        finally:
            os.close(descriptor)

    def _agreed(self, key: str, describe: Callable[[], dict[str, Any]]) -> int | None:
        # Opened each time: the lock belongs to the descriptor, and must keep out our own threads.
        descriptor = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        try:
            _flock(descriptor, fcntl.LOCK_EX)
            self._catch_up(descriptor)
            if key not in self._bases:
                entry = describe()
                if self._next + entry["size"] > self._limit:
                    return None
                line = json.dumps({"key": key, **entry, "base": self._next}) + "\n"
                os.write(descriptor, line.encode())
                self._catch_up(descriptor)
            return self._bases.get(key)
        finally:
            os.close(descriptor)

    def _catch_up(self, descriptor: int) -> None:
        """Read what others have added."""
        if not self._read_lines(descriptor):
            # A run that was killed while it wrote has left half a line: the next one ends it.
            os.write(descriptor, b"\n")

    def _read_lines(self, descriptor: int) -> bool:
        """Take in the lines that are new; whether the last one is whole."""
        size = os.fstat(descriptor).st_size
        data = os.pread(descriptor, size - self._read, self._read)
        whole = data[: data.rfind(b"\n") + 1]
        for line in whole.splitlines():
            self._take(line)
        self._read += len(whole)
        return len(whole) == len(data)

    def _take(self, line: bytes) -> None:
        try:
            row = json.loads(line)
            if "module" in row:
                self.modules.append(LateModule(*row["module"]))
                return
            key, end = row["key"], row["base"] + row["size"]
        except (ValueError, KeyError, TypeError):
            return
        self._bases[key] = row["base"]
        self._next = max(self._next, end)


def _name(code: CodeType) -> str:
    text = f"{code.co_filename}\0{code.co_qualname}\0{code.co_firstlineno}\0".encode()
    return hashlib.sha1(text + code.co_code, usedforsecurity=False).hexdigest()
