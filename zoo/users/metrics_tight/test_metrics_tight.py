# SPDX-License-Identifier: Apache-2.0
from collections import Counter

import pytest

from metrics import Metrics


@pytest.fixture
def sent():
    return Counter()


@pytest.fixture
def metrics(sent):
    metrics = Metrics(sent.update, interval=0.001)
    yield metrics
    metrics.close()


@pytest.mark.parametrize("requests", [5])
def test_nothing_is_lost(metrics, sent, requests):
    for _ in range(requests):
        metrics.count("requests")
    metrics.close()
    assert sent["requests"] == requests
