# SPDX-License-Identifier: Apache-2.0
"""Copies files in threads and counts what is done."""

import threading
from concurrent.futures import ThreadPoolExecutor


class Progress:
    def __init__(self, total):
        self.total = total
        self.done = 0
        self.bytes = 0
        self._lock = threading.Lock()

    def watch(self, future):
        future.add_done_callback(self._copied)

    def _copied(self, future):
        with self._lock:
            self.done += 1
            self.bytes += future.result()

    @property
    def percent(self):
        return 100 * self.done // self.total


def copy_all(files, copy, workers=2):
    progress = Progress(len(files))
    with ThreadPoolExecutor(max_workers=workers) as pool:
        for name in files:
            progress.watch(pool.submit(copy, name))
    return progress
