# SPDX-License-Identifier: Apache-2.0
"""Saves a draft when nobody has typed for a while."""

import threading


class Autosave:
    def __init__(self, write, delay):
        self.delay = delay
        self._write = write
        self._timer = None

    def changed(self, text):
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(self.delay, self._save, (text,))
        self._timer.start()

    def close(self):
        """Afterwards nothing is saved any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join(timeout=5)

    def _save(self, text):
        self._write(text)
