# SPDX-License-Identifier: Apache-2.0
import threading

import pytest

from elastic import ElasticPool


class Server:
    """Counts the connections that it accepts."""

    def __init__(self):
        self.accepted = []

    def connect(self):
        self.accepted.append(f"connection {len(self.accepted) + 1}")
        return self.accepted[-1]


@pytest.fixture
def server():
    return Server()


class TestElasticPool:
    def test_connections_are_used_again(self, server):
        pool = ElasticPool(server.connect, max_size=2)
        pool.release(pool.acquire())
        pool.release(pool.acquire())
        assert len(server.accepted) == 1

    def test_limit_holds_for_many_threads(self, server):
        pool = ElasticPool(server.connect, max_size=1)
        errors = []

        def client():
            try:
                pool.release(pool.acquire())
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=client, name=f"client-{n}") for n in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=10)
            assert not thread.is_alive()
        assert not errors
        assert len(server.accepted) <= pool.max_size
