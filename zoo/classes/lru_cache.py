# SPDX-License-Identifier: Apache-2.0
"""A cache that drops what was used least recently."""

import threading
from collections import OrderedDict


class LRUCache:
    """Keeps up to `size` entries."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, int] = OrderedDict()

    def get(self, key: str) -> int | None:
        """The value of a key, which is now the latest; None if it is not there."""
        if key not in self:
            return None
        with self._lock:
            self._entries.move_to_end(key)
            return self._entries[key]

    def put(self, key: str, value: int) -> None:
        """Set a value; the oldest entry goes if there is no room."""
        with self._lock:
            self._entries[key] = value
            self._entries.move_to_end(key)
            while len(self._entries) > self._size:
                self._entries.popitem(last=False)

    def __contains__(self, key: str) -> bool:
        with self._lock:
            return key in self._entries

    def __len__(self) -> int:
        with self._lock:
            return len(self._entries)
