# SPDX-License-Identifier: Apache-2.0
"""A cache that forgets what was not used for longest."""

from collections import OrderedDict


class LRUCache:
    def __init__(self, capacity):
        self.capacity = capacity
        self.hits = 0
        self.misses = 0
        self._entries = OrderedDict()

    def get(self, key, default=None):
        if key not in self._entries:
            self.misses += 1
            return default
        self._entries.move_to_end(key)
        self.hits += 1
        return self._entries[key]

    def put(self, key, value):
        self._entries[key] = value
        self._entries.move_to_end(key)
        while len(self._entries) > self.capacity:
            self._entries.popitem(last=False)

    def __len__(self):
        return len(self._entries)
