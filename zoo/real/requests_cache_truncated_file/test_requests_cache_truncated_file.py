# SPDX-License-Identifier: Apache-2.0
import json
import threading

import pytest
from requests_cache.backends import FileDict


@pytest.fixture
def cache(tmp_path):
    storage = FileDict(tmp_path / "http_cache", serializer=json)
    storage["page"] = {"etag": "0", "body": "first"}
    return storage


@pytest.mark.parametrize("refreshes", [2])
def test_read_while_refreshed(cache, refreshes):
    """One thread refreshes a stale page, another one is served from the cache."""
    served, errors = [], []
    ready = threading.Barrier(2, timeout=10)

    def refresh():
        ready.wait()
        for number in range(refreshes):
            cache["page"] = {"etag": str(number), "body": "again"}

    def serve():
        ready.wait()
        try:
            served.append(cache["page"])
        except Exception as exc:
            errors.append(exc)

    threads = [threading.Thread(target=refresh), threading.Thread(target=serve)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)
    assert not errors
    assert served[0]["body"] in ("first", "again")
