# SPDX-License-Identifier: Apache-2.0
"""A fixed number of connections, lent to one thread at a time."""

import itertools
import threading
from contextlib import contextmanager


class Connection:
    _numbers = itertools.count(1)

    def __init__(self):
        self.number = next(self._numbers)
        self.queries = []

    def execute(self, query):
        self.queries.append(query)
        return f"{self.number}: {query}"


class ConnectionPool:
    def __init__(self, size, connect=Connection):
        self._idle = [connect() for _ in range(size)]
        self._released = threading.Condition()

    def acquire(self, timeout=5):
        with self._released:
            if not self._released.wait_for(lambda: self._idle, timeout):
                raise TimeoutError(f"no connection within {timeout} s")
            return self._idle.pop()

    def release(self, connection):
        with self._released:
            self._idle.append(connection)
            self._released.notify()

    @contextmanager
    def connection(self):
        connection = self.acquire()
        try:
            yield connection
        finally:
            self.release(connection)
