# SPDX-License-Identifier: Apache-2.0
"""A session of a client: it connects when it is first used, and counts the bytes it sends."""

import threading


def size(message):
    return len(message.encode())


class Connection:
    def __init__(self):
        self.bytes = 0

    def send(self, message):
        self.bytes = self.bytes + size(message)


class Session:
    def __init__(self):
        self.lock = threading.Lock()
        self.connection = None

    def connect(self):
        with self.lock:
            if self.connection is None:
                self.connection = Connection()
            return self.connection

    def say(self, message):
        self.connect().send(message)
