# SPDX-License-Identifier: Apache-2.0
"""One letter at a time, for whoever waits."""

import threading


class Mailbox:
    """`take` waits for a letter."""

    def __init__(self) -> None:
        self._arrived = threading.Condition()
        self._letters: list[int] = []

    def put(self, letter: int) -> None:
        """Leave a letter."""
        with self._arrived:
            self._letters.append(letter)
            self._arrived.notify()

    def take(self) -> int:
        """The oldest letter; waits until there is one."""
        with self._arrived:
            while not self._letters:
                self._arrived.wait()
            return self._letters.pop(0)
