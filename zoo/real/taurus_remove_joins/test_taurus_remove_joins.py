# SPDX-License-Identifier: Apache-2.0
"""An attribute that is polled is taken off the list when its panel is closed."""

import threading

import pytest
from taurus.core.tauruspollingtimer import TaurusPollingTimer


class Device:
    caseSensitive = True

    def __init__(self):
        self.polled = threading.Event()

    def factory(self):
        return self

    def poll(self, attributes, asynch=False, req_id=None):
        self.polled.set()
        return 1


class Attribute:
    def __init__(self, name, device):
        self.name = name
        self.device = device

    def getParentObj(self):
        return self.device

    def getSimpleName(self):
        return self.name

    def factory(self):
        return self.device


@pytest.fixture
def timer():
    return TaurusPollingTimer(period=10)


def test_last_attribute_is_removed_while_polling(timer):
    device = Device()
    attribute = Attribute("position", device)
    timer.addAttribute(attribute)
    assert device.polled.wait(timeout=5)

    closing = threading.Thread(target=timer.removeAttribute, args=(attribute,), daemon=True)
    closing.start()
    closing.join(timeout=5)

    assert not closing.is_alive(), "the panel cannot be closed"
    assert timer.getAttributeCount() == 0
