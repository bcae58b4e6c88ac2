# SPDX-License-Identifier: Apache-2.0
"""Settings that are read when somebody first asks for one."""

import threading


class Settings:
    """Loaded once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[str, int] | None = None

    def get(self, name: str) -> int:
        """A setting; 0 if it is not there."""
        if self._values is None:
            with self._lock:
                if self._values is None:
                    self._load()
        return self._values.get(name, 0)

    def _load(self) -> None:
        self._values = {}
        for number, name in enumerate(("a", "b"), 1):
            self._values[name] = number
