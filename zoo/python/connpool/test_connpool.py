# SPDX-License-Identifier: Apache-2.0
"""Tests of a pool of database connections."""

import threading


class Connection:
    def __init__(self, number):
        self.number = number
        self.owner = None
        self.pings = 0

    def ping(self):
        """Whether the server still answers."""
        self.pings += 1
        return True


class ConnectionPool:
    def __init__(self, size):
        self.lock = threading.Lock()
        self.connections = [Connection(number) for number in range(size)]
        self.in_use = 0

    def check_out(self):
        with self.lock:
            self.in_use += 1
        for connection in self.connections:
            if connection.owner is None and connection.ping():
                connection.owner = threading.current_thread().name
                return connection
        raise LookupError("no connection is free")

    def check_in(self, connection):
        connection.owner = None
        with self.lock:
            self.in_use -= 1


class Worker(threading.Thread):
    def __init__(self, name, pool):
        super().__init__(name=name)
        self.pool = pool
        self.connection = None

    def run(self):
        self.connection = self.pool.check_out()


def test_connections_are_not_shared():
    pool = ConnectionPool(size=3)
    pool.check_out()
    workers = [Worker("orders", pool), Worker("reports", pool)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert pool.in_use == 3
    assert len({worker.connection.number for worker in workers}) == 2
    for worker in workers:
        pool.check_in(worker.connection)
    assert pool.in_use == 1
