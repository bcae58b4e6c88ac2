# SPDX-License-Identifier: Apache-2.0
"""A client sends a broken request and a second one behind it: the second must not be served."""

import socket
import threading

import pytest
from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel

BROKEN = b"GET / HTTP/1.1\r\nHost : example.com\r\n\r\n"
BEHIND = b"GET /admin HTTP/1.1\r\nHost: example.com\r\n\r\n"


class Server:
    def __init__(self, adjustments):
        self.adj = adjustments
        self.active_channels = {}
        self.tasks = []

    def add_task(self, task):
        self.tasks.append(task)

    def pull_trigger(self):
        pass


@pytest.fixture
def channel():
    near, far = socket.socketpair()
    adjustments = Adjustments(channel_request_lookahead=2)
    server = Server(adjustments)
    yield HTTPChannel(server, near, ("127.0.0.1", 50000), adjustments, map={})
    near.close()
    far.close()


def test_nothing_is_served_after_an_error(channel):
    channel.received(BROKEN)
    worker = threading.Thread(target=channel.server.tasks.pop().service)

    def poll():
        if channel.readable():
            channel.received(BEHIND)

    main_loop = threading.Thread(target=poll)
    worker.start()
    main_loop.start()
    worker.join(timeout=10)
    main_loop.join(timeout=10)
    assert channel.close_when_flushed
    assert channel.server.tasks == []
