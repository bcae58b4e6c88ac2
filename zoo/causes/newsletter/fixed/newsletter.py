# SPDX-License-Identifier: Apache-2.0
"""Sends a newsletter: nobody should get it twice, and letters are counted."""

import threading


def cleaned(address):
    return address.strip().lower()


def letters(address):
    return 1 if "@" in address else 0


class Newsletter:
    def __init__(self):
        self.lock = threading.Lock()
        self.readers = []
        self.sent = 0

    def subscribe(self, address):
        with self.lock:
            if address not in self.readers:
                self.readers.append(cleaned(address))

    def send(self, address):
        with self.lock:
            self.sent += letters(address)
