# SPDX-License-Identifier: Apache-2.0
"""The server's tick() shrinks the pool whenever it looks too big, several times in a row if need be."""

import threading
from types import SimpleNamespace

import pytest
from cheroot.workers.threadpool import ThreadPool


class Connection:
    def __init__(self):
        self.served = threading.Event()

    def communicate(self):
        self.served.set()

    def close(self):
        pass


@pytest.fixture
def pool():
    server = SimpleNamespace(stats={"Enabled": False, "Worker Threads": {}}, interrupt=None)
    server.requests = ThreadPool(server, min=1, max=2)
    server.requests.start()
    yield server.requests
    server.requests.stop(timeout=1)


def serve(pool):
    connection = Connection()
    pool.put(connection)
    return connection.served.wait(timeout=2)


def test_pool_still_serves_after_shrinking(pool):
    pool.grow(1)
    pool.shrink(1)
    assert serve(pool)
    pool.shrink(1)
    assert serve(pool), "nobody is left to serve requests"
