# SPDX-License-Identifier: Apache-2.0
"""Tests of a bounded cache whose cleaner naps in a thread of its own until there is work."""

import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor


class Cleaner(threading.Thread):
    """Trims the cache after every nap; a full cache cuts the nap short."""

    def __init__(self, cache, interval):
        super().__init__(name="cleaner")
        self.cache = cache
        self.interval = interval
        self.asleep = False
        self.alarm = None

    def run(self):
        for _ in range(2):
            self.asleep = True
            self.alarm = threading.Event()
            self.alarm.wait(self.interval)
            self.asleep = False
            self.cache.trim()

    def wake(self):
        if self.asleep:
            self.alarm.set()


class Cache:
    def __init__(self, capacity):
        self.lock = threading.Lock()
        self.capacity = capacity
        self.entries = OrderedDict()
        self.cleaner = Cleaner(self, interval=0.01)

    def put(self, key, value):
        with self.lock:
            self.entries[key] = value
            full = len(self.entries) > self.capacity
        if full:
            self.cleaner.wake()

    def get(self, key):
        with self.lock:
            return self.entries.get(key)

    def trim(self):
        with self.lock:
            while len(self.entries) > self.capacity:
                self.entries.popitem(last=False)


def test_full_cache_is_trimmed():
    cache = Cache(capacity=1)
    cache.cleaner.start()
    with ThreadPoolExecutor(max_workers=1) as pool:
        stored = list(pool.map(cache.put, ("home", "news", "help"), (1, 2, 3)))
    cache.cleaner.join()
    cache.trim()
    assert len(stored) == 3
    assert cache.get("help") == 3
