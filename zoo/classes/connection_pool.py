# SPDX-License-Identifier: Apache-2.0
"""A pool of connections, never more than its limit."""

import threading


class Connection:
    """Stands for something that is expensive to make."""

    def __init__(self, number: int) -> None:
        self.number = number


class PoolEmpty(Exception):
    """All connections are in use."""


class ConnectionPool:
    """Lends up to `limit` connections."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._made = 0

    def acquire(self) -> Connection:
        """An idle connection, or a new one; raises PoolEmpty."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        if self._made >= self._limit:
            raise PoolEmpty
        connection = Connection(self._made)
        with self._lock:
            self._made += 1
        return connection

    def release(self, connection: Connection) -> None:
        """Give a connection back."""
        with self._lock:
            self._idle.append(connection)

    def idle(self) -> int:
        """How many wait to be used."""
        with self._lock:
            return len(self._idle)
