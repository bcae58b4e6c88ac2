# SPDX-License-Identifier: Apache-2.0
"""A pool with room for one connection is used by two threads that ask different servers."""

import threading
from concurrent.futures import ThreadPoolExecutor

import httpcore
import pytest
from httpcore.backends.mock import MockBackend

REPLY = [
    b"HTTP/1.1 200 OK\r\n",
    b"Content-Type: plain/text\r\n",
    b"Content-Length: 5\r\n",
    b"\r\n",
    b"Hello",
]


@pytest.fixture
def pool():
    with httpcore.ConnectionPool(network_backend=MockBackend(REPLY), max_connections=1) as pool:
        yield pool


@pytest.mark.parametrize("servers", [("example.com", "example.org")])
def test_two_servers_share_one_place(pool, servers):
    ready = threading.Barrier(len(servers))

    def ask(server):
        ready.wait(timeout=5)
        reply = pool.request("GET", f"http://{server}/", extensions={"timeout": {"pool": 5.0}})
        return reply.status, reply.content

    with ThreadPoolExecutor(len(servers)) as threads:
        replies = list(threads.map(ask, servers))

    assert replies == [(200, b"Hello")] * len(servers)
    assert len(pool.connections) <= 1
