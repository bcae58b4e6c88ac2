# SPDX-License-Identifier: Apache-2.0
"""Letters from one thread to another."""

import threading


class Mailbox:
    def __init__(self):
        self._letters = []
        self._arrived = threading.Event()

    def put(self, letter):
        self._letters.append(letter)
        self._arrived.set()

    def get(self, timeout=5):
        while not self._letters:
            self._arrived.clear()
            if not self._arrived.wait(timeout):
                raise TimeoutError(f"no letter within {timeout} s")
        return self._letters.pop(0)
