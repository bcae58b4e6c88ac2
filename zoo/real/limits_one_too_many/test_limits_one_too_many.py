# SPDX-License-Identifier: Apache-2.0
"""A user may send three mails an hour; two of them are already sent."""

import threading

import pytest
from limits import parse
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

HOURLY = parse("3/hour")


@pytest.fixture
def limiter():
    limiter = MovingWindowRateLimiter(MemoryStorage())
    for _ in range(2):
        assert limiter.hit(HOURLY, "mail", "alice")
    return limiter


def test_limit_holds_for_two_requests_at_once(limiter):
    start = threading.Barrier(2)
    allowed = []

    def request():
        start.wait(timeout=5)
        if limiter.hit(HOURLY, "mail", "alice"):
            allowed.append(threading.current_thread().name)

    requests = [threading.Thread(target=request, daemon=True) for _ in range(2)]
    for thread in requests:
        thread.start()
    for thread in requests:
        thread.join(timeout=5)

    assert len(allowed) == 1
    assert limiter.get_window_stats(HOURLY, "mail", "alice").remaining == 0
