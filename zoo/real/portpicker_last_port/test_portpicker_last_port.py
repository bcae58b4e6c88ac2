# SPDX-License-Identifier: Apache-2.0
"""Ports that were given back are picked again, by servers that start at the same time."""

import threading
from concurrent.futures import ThreadPoolExecutor

import portpicker
import pytest


@pytest.fixture
def one_free_port():
    port = portpicker.pick_unused_port()
    portpicker.add_reserved_port(port)
    yield port
    for owned in list(portpicker._owned_ports):
        portpicker.return_port(owned)


@pytest.mark.parametrize("servers", [2])
def test_servers_pick_different_ports(one_free_port, servers):
    ready = threading.Barrier(servers)

    def start(_):
        ready.wait(timeout=5)
        return portpicker.pick_unused_port()

    with ThreadPoolExecutor(servers) as threads:
        ports = list(threads.map(start, range(servers)))

    assert one_free_port in ports
    assert len(set(ports)) == servers
