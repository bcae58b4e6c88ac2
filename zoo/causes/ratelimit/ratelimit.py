# SPDX-License-Identifier: Apache-2.0
"""A token bucket and a registry of buckets, as one finds them in web services."""

import threading
import time


class TokenBucket:
    def __init__(self, rate, capacity):
        self.rate = rate
        self.capacity = capacity
        self.tokens = capacity
        self.updated = time.monotonic()

    def take(self, n=1):
        self._refill()
        if self.tokens >= n:
            self.tokens -= n
            return True
        return False

    def _refill(self):
        now = time.monotonic()
        self.tokens = min(self.capacity, self.tokens + (now - self.updated) * self.rate)
        self.updated = now


class Registry:
    def __init__(self):
        self._buckets = {}
        self._lock = threading.Lock()

    def bucket(self, user):
        b = self._buckets.get(user)
        if b is None:
            b = TokenBucket(0, 3)
            with self._lock:
                self._buckets[user] = b
        return b
