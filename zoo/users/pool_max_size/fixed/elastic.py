# SPDX-License-Identifier: Apache-2.0
"""A pool that opens connections when they are needed, up to a limit."""

import queue
import threading


class PoolExhausted(Exception):
    pass


class ElasticPool:
    def __init__(self, connect, max_size, timeout=5):
        self.max_size = max_size
        self.size = 0
        self._connect = connect
        self._timeout = timeout
        self._idle = queue.SimpleQueue()
        self._lock = threading.Lock()

    def acquire(self):
        try:
            return self._idle.get_nowait()
        except queue.Empty:
            pass
        with self._lock:
            if self.size < self.max_size:
                connection = self._connect()
                self.size += 1
                return connection
        try:
            return self._idle.get(timeout=self._timeout)
        except queue.Empty:
            raise PoolExhausted(f"{self.max_size} connections are in use") from None

    def release(self, connection):
        self._idle.put(connection)
