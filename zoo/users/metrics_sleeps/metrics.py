# SPDX-License-Identifier: Apache-2.0
"""Counters that a thread in the background sends away every now and then."""

import threading
import time


class Metrics:
    def __init__(self, send, interval):
        self.interval = interval
        self._send = send
        self._counts = {}
        self._stop = threading.Event()
        self._flusher = threading.Thread(target=self._run, name="flusher", daemon=True)
        self._flusher.start()

    def count(self, name, by=1):
        self._counts[name] = self._counts.get(name, 0) + by

    def flush(self):
        if self._counts:
            batch = dict(self._counts)
            self._counts.clear()
            self._send(batch)

    def close(self):
        self._stop.set()
        self._flusher.join(timeout=5)
        self.flush()

    def _run(self):
        while not self._stop.is_set():
            time.sleep(self.interval)
            self.flush()
