# SPDX-License-Identifier: Apache-2.0
"""Tests of a vector whose every method takes the vector's own lock."""

import threading


class Vector:
    def __init__(self):
        self.lock = threading.RLock()
        self.items = []

    def add(self, item):
        with self.lock:
            self.items.append(item)

    def size(self):
        with self.lock:
            return len(self.items)

    def to_list(self):
        with self.lock:
            return self.items[:]

    def add_all(self, other):
        """Add all items of another vector; return how many there were."""
        added = other.size()
        with self.lock:
            self.items.extend(other.to_list())
        return added


def test_add_all_counts_what_it_adds():
    source, target = Vector(), Vector()
    for item in ("a", "b"):
        source.add(item)
    counts = []
    copier = threading.Thread(target=lambda: counts.append(target.add_all(source)))
    grower = threading.Thread(target=source.add, args=("c",))
    copier.start()
    grower.start()
    copier.join()
    grower.join()
    assert counts == [target.size()]
