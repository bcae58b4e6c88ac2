# SPDX-License-Identifier: Apache-2.0
"""Jobs for workers, who wait while there are none."""

import threading
from collections import deque


class JobQueue:
    def __init__(self):
        self._jobs = deque()
        self._changed = threading.Condition()

    def submit(self, job: str):
        with self._changed:
            self._jobs.append(job)
            self._changed.notify_all()

    def next(self):
        with self._changed:
            if not self._jobs:
                self._changed.wait()
            return self._jobs.popleft()

    def pending(self):
        with self._changed:
            return len(self._jobs)
