# SPDX-License-Identifier: Apache-2.0
"""A model's three files are fetched at once; the client is made for the first of them."""

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from huggingface_hub import close_session, get_session, set_client_factory

FILES = ["config.json", "tokenizer.json", "model.safetensors"]


@pytest.fixture
def clients():
    made = []

    def factory():
        server = httpx.MockTransport(lambda request: httpx.Response(200, text=request.url.path))
        client = httpx.Client(transport=server, trust_env=False)
        made.append(client)
        return client

    set_client_factory(factory)
    yield made
    close_session()


def fetch(file):
    return get_session().get(f"https://hub.example/gpt2/{file}").text


def test_all_fetches_share_a_client(clients):
    with ThreadPoolExecutor(max_workers=len(FILES)) as pool:
        fetched = list(pool.map(fetch, FILES))

    assert fetched == [f"/gpt2/{file}" for file in FILES]
    assert len(clients) == 1
