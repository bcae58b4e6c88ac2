# SPDX-License-Identifier: Apache-2.0
"""Tests of a string buffer that several threads may use at once."""

import threading
from concurrent.futures import ThreadPoolExecutor


class StringBuffer:
    def __init__(self):
        self.lock = threading.RLock()
        self.chars = []

    def write(self, text):
        with self.lock:
            self.chars.extend(text)

    def length(self):
        with self.lock:
            return len(self.chars)

    def get_chars(self, start, end):
        with self.lock:
            if end > len(self.chars):
                raise IndexError("no such characters")
            return self.chars[start:end]

    def set_length(self, length):
        with self.lock:
            del self.chars[length:]

    def append(self, other):
        with self.lock, other.lock:
            length = other.length()
            self.chars.extend(other.get_chars(0, length))


def test_append_while_other_is_truncated():
    source, target = StringBuffer(), StringBuffer()
    source.write("interleaving")
    with ThreadPoolExecutor(max_workers=2) as pool:
        appended = pool.submit(target.append, source)
        truncated = pool.submit(source.set_length, 5)
    appended.result()
    truncated.result()
    assert target.length() in (5, 12)
