# SPDX-License-Identifier: Apache-2.0
import threading

import pytest

from bus import EventBus


@pytest.fixture
def bus():
    return EventBus()


def test_everybody_hears_of_an_event(bus):
    heard = []
    bus.subscribe("order", heard.append)
    bus.subscribe("order", heard.append)
    bus.publish("order", "tea")
    assert heard == ["tea", "tea"]


def test_leaving_does_not_disturb_the_others(bus):
    audit, mail = [], []
    leave = bus.subscribe("order", lambda event: None)
    bus.subscribe("order", audit.append)
    bus.subscribe("order", mail.append)

    publisher = threading.Thread(target=bus.publish, args=("order", "tea"))
    leaver = threading.Thread(target=leave)
    for thread in (publisher, leaver):
        thread.start()
    for thread in (publisher, leaver):
        thread.join(timeout=5)

    assert audit == ["tea"]
    assert mail == ["tea"]
