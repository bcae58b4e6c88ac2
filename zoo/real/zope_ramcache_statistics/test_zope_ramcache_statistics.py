# SPDX-License-Identifier: Apache-2.0
"""The page of the administrator shows what is in the cache, while an editor changes a document."""

import threading
import time

import pytest
from zope.ramcache.ram import RAMCache

DOCUMENTS = ["/news/harvest", "/news/market", "/news/weather"]


@pytest.fixture
def cache():
    cache = RAMCache()
    for document in DOCUMENTS:
        cache.set(f"<h1>{document}</h1>", document, {"lang": "en"})
        cache.set(f"<h1>{document}</h1>", document, {"lang": "de"})
    yield cache
    cache.invalidateAll()


def test_statistics_while_a_document_changes(cache):
    seen = []
    page = threading.Thread(target=lambda: seen.append(cache.getStatistics()), daemon=True)
    page.start()
    time.sleep(0.01)
    cache.invalidate("/news/market")
    page.join(timeout=5)

    assert len(seen) == 1
    assert {"/news/harvest", "/news/weather"} <= {line["path"] for line in seen[0]}
    assert [line["path"] for line in cache.getStatistics()] == ["/news/harvest", "/news/weather"]
