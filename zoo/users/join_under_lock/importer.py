# SPDX-License-Identifier: Apache-2.0
"""Imports rows in the background; can be stopped at any time."""

import threading


class Importer:
    def __init__(self, rows):
        self.imported = []
        self._rows = rows
        self._stopped = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="importer", daemon=True)

    def start(self):
        self._thread.start()

    @property
    def running(self):
        return self._thread.is_alive()

    def stop(self):
        with self._lock:
            self._stopped = True
            self._thread.join(timeout=5)

    def _run(self):
        for row in self._rows:
            with self._lock:
                if self._stopped:
                    return
                self.imported.append(row.strip().lower())
