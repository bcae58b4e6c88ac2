# SPDX-License-Identifier: Apache-2.0
"""Letters from one thread to another."""

import threading


class Mailbox:
    def __init__(self):
        self._letters = []
        self._arrived = threading.Condition()

    def put(self, letter):
        with self._arrived:
            self._letters.append(letter)
            self._arrived.notify()

    def get(self, timeout=5):
        with self._arrived:
            if not self._arrived.wait_for(lambda: self._letters, timeout):
                raise TimeoutError(f"no letter within {timeout} s")
            return self._letters.pop(0)
