# SPDX-License-Identifier: Apache-2.0
from concurrent.futures import ThreadPoolExecutor

import pytest

from lru import LRUCache


@pytest.fixture
def cache():
    cache = LRUCache(capacity=2)
    cache.put("ann", 1)
    cache.put("bob", 2)
    return cache


def test_evicts_the_oldest(cache):
    cache.get("ann")
    cache.put("cid", 3)
    assert cache.get("bob") is None
    assert cache.get("ann") == 1


def test_readers_and_writers_together(cache):
    def read():
        return [cache.get(name) for name in ("ann", "bob")]

    def write():
        for number, name in enumerate(("cid", "dan")):
            cache.put(name, number)

    with ThreadPoolExecutor(max_workers=2) as pool:
        reading, writing = pool.submit(read), pool.submit(write)
        writing.result(timeout=5)
        ann, bob = reading.result(timeout=5)
    assert ann in (None, 1)
    assert bob in (None, 2)
    assert len(cache) == 2
