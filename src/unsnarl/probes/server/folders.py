# SPDX-License-Identifier: Apache-2.0
"""A folder for temporary files per run in flight: runs at the same time must not share one.

pytest makes its `tmp_path` root by counting what is there and removes the oldest; two runs that did
so in one folder made correct tests fail. Folders are reused, so that their names, which the target
may sort or hash, are the same from run to run.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

_DEFAULT = "/tmp"


class TemporaryFolders:
    """The folders below `base`, which the parent removes in the end; "" for none."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._taken: set[int] = set()
        self._before = os.environ.get("TMPDIR", _DEFAULT)
        if base:
            for name in os.listdir(base):  # noqa: PTH208  of a server that has died
                _remove(os.path.join(base, name))  # noqa: PTH118

    def take(self) -> int:
        """The number of a folder that no run has.

        It is made here: what a run does first, it pays for with copies of the pages it touches.
        """
        slot = next(n for n in range(len(self._taken) + 1) if n not in self._taken)
        self._taken.add(slot)
        if self._base:
            with contextlib.suppress(FileExistsError):
                os.mkdir(self._path(slot), 0o700)  # noqa: PTH102  pathlib is slow to load
        return slot

    def give_back(self, slot: int) -> None:
        """A run has ended: what it left goes.

        An empty folder stays, as most do. To remove and make it takes a file system 0.4 ms.
        """
        self._taken.discard(slot)
        if self._base and not _is_empty(self._path(slot)):
            _remove(self._path(slot))

    def enter(self, slot: int) -> None:
        """In the process of a run: this is where its temporary files go."""
        if not self._base:
            return
        os.environ["TMPDIR"] = path = self._path(slot)
        tempfile: Any = sys.modules.get("tempfile")
        # One that the target has chosen itself is left alone. Set, because to find it out by itself
        # the module tries to write a file.
        if tempfile is not None and tempfile.tempdir == self._before:
            tempfile.tempdir = path

    def _path(self, slot: int) -> str:
        return f"{self._base}/{slot:02d}"


def _is_empty(path: str) -> bool:
    try:
        return not os.listdir(path)  # noqa: PTH208
    except OSError:
        return False


def _remove(path: str) -> None:
    import shutil  # noqa: PLC0415  slow to load

    shutil.rmtree(path, ignore_errors=True)
