# SPDX-License-Identifier: Apache-2.0
"""What many tests read and none changes is made once, by the worker that asks first."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


class Shared:
    """Files and folders by name, in a folder that all workers of one session have in common.

    Whoever asks for a name while another worker makes it waits until it is whole. Where making it
    fails, the next who asks tries again.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def folder(self, name: str, make: Callable[[Path], object]) -> Path:
        """The folder of this name; `make` fills it when it is new. For reading only."""
        path = self._folder / name
        with self._locked(name) as is_done:
            if not is_done.exists():
                shutil.rmtree(path, ignore_errors=True)
                path.mkdir(parents=True)
                make(path)
                is_done.touch()
        return path

    def data(self, name: str, make: Callable[[], bytes]) -> bytes:
        """The bytes of this name, as `make` returned them to the first who asked."""

        def store(folder: Path) -> None:
            (folder / "data").write_bytes(make())

        return (self.folder(name, store) / "data").read_bytes()

    @contextmanager
    def _locked(self, name: str) -> Iterator[Path]:
        """Hold the lock of a name; gives the file that says whether it has been made."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield self._folder / f"{name}.done"
