# SPDX-License-Identifier: Apache-2.0
"""A device is found in two ways at once: it announces itself, and its host is asked."""

import queue
from types import SimpleNamespace
from unittest import mock
from uuid import UUID

import pytest
from pychromecast import discovery

KITCHEN = UUID("5f2f3ba8-0e0f-4d43-9c5c-9f1b2f0c5a11")
STATUS = SimpleNamespace(friendly_name="Kitchen", model_name="Speaker", uuid=KITCHEN)
GROUPS = SimpleNamespace(dynamic_groups=[], groups=[])


class Announced:
    def __init__(self):
        self.properties = {b"md": b"Speaker", b"id": str(KITCHEN).encode(), b"fn": b"Kitchen"}
        self.server, self.port = "kitchen.local", 8009

    def parsed_addresses(self):
        return ["192.0.2.7"]


@pytest.fixture
def found():
    return queue.Queue()


@pytest.fixture
def browser(found):
    asked = mock.patch.object(discovery, "get_device_status", return_value=STATUS)
    groups = mock.patch.object(discovery, "get_multizone_status", return_value=GROUPS)
    with asked, groups:
        listener = discovery.SimpleCastListener(
            add_callback=lambda uuid, service: found.put(uuid),
            update_callback=lambda uuid, service: found.put(uuid),
        )
        browser = discovery.CastBrowser(listener, known_hosts=["192.0.2.7"])
        yield browser
        browser.stop_discovery()


def test_device_is_found_in_two_ways(browser, found):
    network = mock.Mock()
    network.get_service_info.return_value = Announced()

    browser.start_discovery()
    browser.zeroconf_listener.add_service(network, "_googlecast._tcp.local.", "Kitchen")
    assert [found.get(timeout=5) for _ in range(2)] == [KITCHEN, KITCHEN]

    kinds = {service.type for service in browser.devices[KITCHEN].services}
    assert kinds == {"mdns", "host"}
