# SPDX-License-Identifier: Apache-2.0
"""Saves a draft when nobody has typed for a while."""

import threading


class Autosave:
    def __init__(self, write, delay):
        self.delay = delay
        self._write = write
        self._timer = None
        self._closed = False
        self._lock = threading.Lock()

    def changed(self, text):
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(self.delay, self._save, (text,))
            self._timer.start()

    def close(self):
        """Afterwards nothing is saved any more."""
        with self._lock:
            self._closed = True
            if self._timer is not None:
                self._timer.cancel()

    def _save(self, text):
        with self._lock:
            if not self._closed:
                self._write(text)
