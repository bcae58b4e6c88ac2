# SPDX-License-Identifier: Apache-2.0
from concurrent.futures import ThreadPoolExecutor

import pytest

from client import ApiClient


class FakeTransport:
    def __init__(self):
        self.requests = []

    def send(self, path, headers):
        self.requests.append(path)
        return {"token": "s3cret"} if path == "/login" else {"path": path, **headers}


@pytest.fixture
def client():
    return ApiClient(FakeTransport())


def test_logs_in_before_the_first_request(client):
    assert client.get("/news")["Authorization"] == "Bearer s3cret"


def test_two_pages_at_once(client):
    with ThreadPoolExecutor(max_workers=2) as pool:
        pages = list(pool.map(client.get, ["/news", "/mail"], timeout=10))
    assert None not in pages
    assert [page["path"] for page in pages] == ["/news", "/mail"]
