# SPDX-License-Identifier: Apache-2.0
"""The smallest and the largest of what was measured."""

import threading


class Bounds:
    """Two numbers that belong together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._low = 0
        self._high = 0

    def set_around(self, middle: int) -> None:
        """Both bounds, one below and one above."""
        with self._lock:
            self._low = middle - 1
            self._high = middle + 1

    def get(self) -> tuple[int, int]:
        """Both bounds."""
        with self._lock:
            return self._low, self._high
