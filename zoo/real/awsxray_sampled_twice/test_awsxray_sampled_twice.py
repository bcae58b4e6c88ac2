# SPDX-License-Identifier: Apache-2.0
"""A reservoir guarantees a number of samples in a second, and no more."""

import threading
from types import SimpleNamespace

import pytest
from aws_xray_sdk.core.sampling import reservoir


@pytest.fixture
def one_second(monkeypatch):
    monkeypatch.setattr(reservoir, "time", SimpleNamespace(time=lambda: 1500000000.5))


def test_three_requests_share_two_samples(one_second):
    samples = reservoir.Reservoir(traces_per_sec=2)
    taken = []
    requests = [threading.Thread(target=lambda: taken.append(samples.take())) for _ in range(3)]
    for request in requests:
        request.start()
    for request in requests:
        request.join(timeout=5)

    assert sorted(taken) == [False, True, True]
