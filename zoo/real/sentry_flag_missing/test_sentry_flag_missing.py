# SPDX-License-Identifier: Apache-2.0
"""A flag is evaluated again while errors are reported with the flags seen so far."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sentry_sdk.feature_flags import FlagBuffer


@pytest.fixture
def flags():
    buffer = FlagBuffer(capacity=5)
    for name in ("search", "checkout", "banner"):
        buffer.set(name, True)
    return buffer


def test_flags_of_events_are_complete(flags):
    gate = threading.Barrier(2)

    def evaluate():
        gate.wait()
        for name in ("banner", "checkout"):
            flags.set(name, True)

    def capture():
        gate.wait()
        return [sorted(entry["flag"] for entry in flags.get()) for _ in range(3)]

    with ThreadPoolExecutor(2) as pool:
        request = pool.submit(evaluate)
        events = pool.submit(capture)
        request.result()
        for names in events.result():
            assert names == ["banner", "checkout", "search"]
