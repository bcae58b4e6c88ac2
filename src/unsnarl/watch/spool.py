# SPDX-License-Identifier: Apache-2.0
"""The folder between a watched program and the analyst, as the program sees it.

    watch.json             how to analyse: baseline, endpoint, threshold
    instances/ID.json      one for each process: its program, its code, names of its variables
    bursts/ID-NUMBER.run   what a burst has seen; the analyst reads and, when there are many,
                           removes them
    anomalies/ID.json      batches (model/anomaly.py)
    analyst.lock           locked while an analyst works; analyst.cpu is what it has used

Whatever is written gets its name when it is complete. The folder is bounded: with so many bursts
in it that nobody has read, no more are made.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from typing import Any

FORMAT = 1
BURSTS_MOST = 256
BURST_BYTES_MOST = 4 << 20
FOLDERS = ("instances", "bursts", "anomalies")
SETTINGS = "watch.json"
LOCK = "analyst.lock"
CPU = "analyst.cpu"


class Spool:
    """The folder of one program; an OSError means that there is no room, or no right to write."""

    def __init__(self, folder: str, instance: str) -> None:
        self.folder = folder
        self.instance = instance
        self._number = 0
        for name in FOLDERS:
            os.makedirs(os.path.join(folder, name), exist_ok=True)  # noqa: PTH103, PTH118

    def has_room(self) -> bool:
        """Whether one more burst may be written."""
        return len(os.listdir(self._path("bursts"))) < BURSTS_MOST  # noqa: PTH208

    def next_burst(self) -> str:
        """The name of the next burst's file."""
        self._number += 1
        return self._path("bursts", f"{self.instance}-{self._number:06}.run")

    def checked(self, burst: str) -> bool:
        """Whether the burst is there; one that is too large is not kept."""
        try:
            if os.path.getsize(burst) <= BURST_BYTES_MOST:  # noqa: PTH202
                return True
            os.unlink(burst)  # noqa: PTH108
        except OSError:
            pass
        return False

    def write_instance(self, content: dict[str, Any]) -> None:
        """What the analyst has to know of this process."""
        self._write(self._path("instances", f"{self.instance}.json"), content)

    def write_settings(self, content: dict[str, Any]) -> None:
        """How the analyst is to work; the latest process decides."""
        self._write(self._path(SETTINGS), content)

    def is_analysed(self) -> bool:
        """Whether an analyst is at work."""
        try:
            with open(self._path(LOCK), "ab") as stream:  # noqa: PTH123
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False

    def analyst_seconds(self) -> float:
        """What analysts have used of the processor, all together."""
        return analyst_seconds(self.folder)

    def _path(self, *names: str) -> str:
        return os.path.join(self.folder, *names)  # noqa: PTH118

    def _write(self, path: str, content: dict[str, Any]) -> None:
        temporary = f"{path}.{os.getpid()}.tmp"
        try:
            with open(temporary, "w", encoding="utf-8") as stream:  # noqa: PTH123
                json.dump(content, stream)
            os.replace(temporary, path)  # noqa: PTH105
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary)  # noqa: PTH108
            raise


def analyst_seconds(folder: str) -> float:
    """What the analysts of a spool have used of the processor, all together."""
    try:
        with open(os.path.join(folder, CPU), "rb") as stream:  # noqa: PTH118, PTH123
            return float(stream.read(40))
    except (OSError, ValueError):
        return 0.0
