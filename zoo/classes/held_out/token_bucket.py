# SPDX-License-Identifier: Apache-2.0
"""Limits how often something may be done."""

import threading
import time


class TokenBucket:
    def __init__(self, rate=0.001, burst=1):
        self.rate = rate
        self.burst = burst
        self._tokens = burst
        self._last = time.monotonic()
        self._mutex = threading.Lock()

    def _refill(self):
        now = time.monotonic()
        with self._mutex:
            self._tokens = min(self.burst, self._tokens + (now - self._last) * self.rate)
            self._last = now

    def allow(self):
        self._refill()
        if self._tokens >= 1:
            with self._mutex:
                self._tokens -= 1
            return True
        return False

    def reset(self):
        with self._mutex:
            self._tokens = self.burst
