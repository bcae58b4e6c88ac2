# SPDX-License-Identifier: Apache-2.0
"""The flags of a provider change while a further part of the program asks to be told of changes."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from openfeature import api
from openfeature.event import ProviderEvent, ProviderEventDetails
from openfeature.provider.no_op_provider import NoOpProvider


@pytest.fixture
def provider():
    provider = NoOpProvider()
    api.set_provider(provider)
    yield provider
    api.clear_providers()


@pytest.fixture
def told(provider):
    told = []
    for part in ("checkout", "search"):
        client = api.get_client(part)
        client.add_handler(ProviderEvent.PROVIDER_CONFIGURATION_CHANGED, lambda event, part=part: told.append(part))
    return told


def add_part(told):
    client = api.get_client("newsletter")
    client.add_handler(ProviderEvent.PROVIDER_CONFIGURATION_CHANGED, lambda event: told.append("newsletter"))


def test_clients_are_told_while_one_is_added(provider, told):
    with ThreadPoolExecutor(max_workers=2) as pool:
        changed = pool.submit(provider.emit_provider_configuration_changed, ProviderEventDetails(["discount"]))
        added = pool.submit(add_part, told)
    changed.result()
    added.result()
    assert {"checkout", "search"} <= set(told)
