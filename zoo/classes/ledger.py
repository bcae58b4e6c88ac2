# SPDX-License-Identifier: Apache-2.0
"""Two accounts between which money moves."""

import threading


class Ledger:
    """Each account has a lock of its own."""

    def __init__(self) -> None:
        self._left_lock = threading.Lock()
        self._right_lock = threading.Lock()
        self._left = 10
        self._right = 10

    def to_right(self, amount: int) -> None:
        """Move money from the left to the right."""
        with self._left_lock, self._right_lock:
            self._left -= amount
            self._right += amount

    def to_left(self, amount: int) -> None:
        """Move money from the right to the left."""
        with self._right_lock, self._left_lock:
            self._right -= amount
            self._left += amount

    def balances(self) -> tuple[int, int]:
        """Both balances."""
        with self._left_lock, self._right_lock:
            return self._left, self._right
