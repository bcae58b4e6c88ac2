# SPDX-License-Identifier: Apache-2.0
"""A view is timed by a decorator and called by several request threads at once."""

import threading

import pytest
import statsd


@pytest.fixture
def client(monkeypatch):
    """A client that keeps its packets instead of sending them."""
    client = statsd.StatsClient("127.0.0.1")
    client.packets = []
    client._send = client.packets.append
    yield client
    client._sock.close()


def test_every_call_of_a_timed_view_is_reported(client):
    answers, errors = [], []

    @client.timer("view")
    def view(request):
        return "page %d" % request

    def handle(request):
        try:
            answers.append(view(request))
        except RuntimeError as error:
            errors.append(error)

    threads = [threading.Thread(target=handle, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=5)

    assert errors == []
    assert sorted(answers) == ["page 0", "page 1"]
    assert len(client.packets) == 2
