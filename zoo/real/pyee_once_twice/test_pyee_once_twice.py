# SPDX-License-Identifier: Apache-2.0
"""A handler that is registered with once() gets one of two events that come at the same time."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from pyee import EventEmitter


@pytest.fixture
def emitter():
    return EventEmitter()


def test_once_from_two_threads(emitter):
    calls = []
    gate = Barrier(2)

    @emitter.once("connected")
    def handler(peer):
        calls.append(peer)

    def announce(peer):
        gate.wait(timeout=10)
        return emitter.emit("connected", peer)

    with ThreadPoolExecutor(max_workers=2) as pool:
        futures = [pool.submit(announce, peer) for peer in ("north", "south")]
        for future in futures:
            future.result(timeout=10)
    assert len(calls) == 1
    assert emitter.listeners("connected") == []
