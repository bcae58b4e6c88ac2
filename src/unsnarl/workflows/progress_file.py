# SPDX-License-Identifier: Apache-2.0
"""How far a hunt has got, as a file of its campaign: for whoever watches from another process.

It is written a few times a second and removed at the end. One that a killed hunt has left names a
process that is gone, or another one by now: it is not believed.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

import msgspec

from unsnarl.workflows.progress import RunProgress

FILE = "progress.json"
SECONDS = 0.25
START_FIELD = 19  # of /proc/PID/stat, counted behind the name: when the process began
IMPORTING = RunProgress(0, 0, 0, 0, 0, 0.0, "importing the target")


class WrittenProgress(msgspec.Struct, frozen=True):
    """The content of the file."""

    pid: int
    began: int
    progress: RunProgress


class ProgressFile:
    """Writes the progress of this process into a campaign's folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._pid = os.getpid()
        self._began = _began(self._pid)
        self._next = 0.0

    def take(self, progress: RunProgress) -> None:
        """Write it, unless that was done just now. A disk that is full must not end the hunt."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + SECONDS
        temporary = self._path.with_suffix(".tmp")
        with contextlib.suppress(OSError):
            written = WrittenProgress(self._pid, self._began, progress)
            temporary.write_bytes(msgspec.json.encode(written))
            temporary.replace(self._path)

    def end(self) -> None:
        """There is nothing to be watched any more."""
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)


def progress_of(folder: Path) -> RunProgress | None:
    """How far the hunt of this campaign has got, if one is under way."""
    try:
        text = (folder / FILE).read_bytes()
        written = msgspec.json.decode(text, type=WrittenProgress)
    except (OSError, msgspec.MsgspecError):
        return None
    return written.progress if _began(written.pid) == written.began else None


def _began(pid: int) -> int:
    """When a process began, in the kernel's ticks; 0 if there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return int(text.rpartition(")")[2].split()[START_FIELD])
    except (OSError, ValueError, IndexError):
        return 0
