# SPDX-License-Identifier: Apache-2.0
"""Messages are numbered where they arise and written by a thread of their own."""

import queue
import threading


class AuditLog:
    def __init__(self, backlog=1):
        self.written = []
        self._number = 0
        self._lock = threading.Lock()
        self._queue = queue.Queue(maxsize=backlog)
        self._writer = threading.Thread(target=self._write_all, name="writer", daemon=True)
        self._writer.start()

    def record(self, message):
        with self._lock:
            self._number += 1
            number = self._number
        self._queue.put((number, message), timeout=5)

    def close(self):
        self._queue.put(None, timeout=5)
        self._writer.join(timeout=5)

    def _write_all(self):
        while (entry := self._queue.get()) is not None:
            with self._lock:
                number, message = entry
                self.written.append(f"{number}/{self._number} {message}")
