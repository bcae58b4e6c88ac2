# SPDX-License-Identifier: Apache-2.0
"""Requests of a development server fill a small cache at the same time."""

import threading

import pytest
from cachelib import SimpleCache


@pytest.fixture(params=[8])
def full_cache(request):
    cache = SimpleCache(threshold=request.param)
    for number in range(request.param + 1):
        cache.set(f"old-{number}", number)
    return cache


class TestFullCache:
    def test_set_from_two_threads(self, full_cache):
        errors = []
        gate = threading.Barrier(2)

        def fill(name):
            gate.wait()
            try:
                for number in range(5):
                    full_cache.set(f"{name}-{number}", number)
            except RuntimeError as exc:
                errors.append(exc)

        threads = [threading.Thread(target=fill, args=(name,)) for name in ("page", "user")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
