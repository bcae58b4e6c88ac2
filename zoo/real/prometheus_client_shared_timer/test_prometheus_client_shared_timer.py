# SPDX-License-Identifier: Apache-2.0
"""A handler is timed by a decorator; two requests of ten ticks each must add up to twenty."""

import threading

import pytest
from prometheus_client import CollectorRegistry, Summary, core


@pytest.fixture
def ticks():
    """A clock that every thread has for itself: ten ticks from one look to the next."""
    clock = threading.local()

    def look():
        clock.now = getattr(clock, "now", 1000 * int(threading.current_thread().name)) + 10
        return clock.now

    original, core.default_timer = core.default_timer, look
    yield
    core.default_timer = original


def test_calls_in_two_threads_are_timed_separately(ticks):
    registry = CollectorRegistry()
    latency = Summary("latency", "time of a request", registry=registry)

    @latency.time()
    def handle():
        return "ok"

    requests = [threading.Thread(target=handle, name=str(number)) for number in (1, 2)]
    for request in requests:
        request.start()
    for request in requests:
        request.join(timeout=5)

    assert registry.get_sample_value("latency_count") == 2
    assert registry.get_sample_value("latency_sum") == 20
