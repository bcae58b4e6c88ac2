# SPDX-License-Identifier: Apache-2.0
"""A queue of jobs with worker threads; a job that raises is tried again."""

import queue
import threading
from typing import Any, Callable, NamedTuple


class Job(NamedTuple):
    name: str
    call: Callable[[], Any]
    attempt: int = 1


class JobQueue:
    def __init__(self, workers=2, attempts=2):
        self.attempts = attempts
        self.results = {}
        self.failed = {}
        self._queue = queue.Queue()
        self._threads = [
            threading.Thread(target=self._work, name=f"worker-{n}", daemon=True) for n in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, name, call):
        self._queue.put(Job(name, call))

    def drain(self):
        """Wait until every job has succeeded or has been given up."""
        self._queue.join()

    def close(self, timeout=5):
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join(timeout)

    def _work(self):
        while (job := self._queue.get()) is not None:
            try:
                self.results[job.name] = job.call()
            except Exception as error:
                self._retry(job, error)
            else:
                self._queue.task_done()

    def _retry(self, job, error):
        if job.attempt < self.attempts:
            self._queue.put(job._replace(attempt=job.attempt + 1))
        else:
            self.failed[job.name] = error
        self._queue.task_done()
