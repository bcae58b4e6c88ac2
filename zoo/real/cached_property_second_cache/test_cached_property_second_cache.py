# SPDX-License-Identifier: Apache-2.0
"""Two properties of one object are asked for at the same time, and each is computed once."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from cached_property import threaded_cached_property_with_ttl


class Report:
    def __init__(self):
        self.computed = []

    @threaded_cached_property_with_ttl(ttl=60)
    def income(self):
        self.computed.append("income")
        return 700

    @threaded_cached_property_with_ttl(ttl=60)
    def costs(self):
        self.computed.append("costs")
        return 400


@pytest.fixture
def report():
    return Report()


def test_each_property_is_computed_once(report):
    ready = threading.Barrier(2)

    def ask(name):
        ready.wait(timeout=5)
        return getattr(report, name)

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(ask, ("income", "costs"))) == [700, 400]

    assert report.income - report.costs == 300
    assert sorted(report.computed) == ["costs", "income"]
