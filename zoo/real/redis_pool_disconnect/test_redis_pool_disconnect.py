# SPDX-License-Identifier: Apache-2.0
"""Closing all connections of a pool while handlers still take and return some."""

import threading

import pytest
import redis


class OfflineConnection(redis.Connection):
    """A connection that never touches the network."""

    def connect(self):
        self.connected = True

    def disconnect(self):
        self.connected = False

    def can_read(self, timeout=0):
        return False


@pytest.fixture(params=[2, 5], ids=["few", "many"])
def pool(request):
    pool = redis.ConnectionPool(connection_class=OfflineConnection)
    held = [pool.get_connection("PING") for _ in range(request.param)]
    pool.held = held
    return pool


class Caught(list):
    def running(self, function, *args):
        def guarded():
            try:
                function(*args)
            except RuntimeError as error:
                self.append(error)

        return threading.Thread(target=guarded)


def serve(pool):
    for connection in pool.held:
        pool.release(connection)


def take(pool):
    for _ in range(3):
        pool.get_connection("GET")


def test_disconnect_while_in_use(pool):
    caught = Caught()
    threads = [caught.running(pool.disconnect), caught.running(serve, pool), caught.running(take, pool)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert caught == []
