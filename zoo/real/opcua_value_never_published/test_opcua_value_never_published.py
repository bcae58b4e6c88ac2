# SPDX-License-Identifier: Apache-2.0
"""A machine's values change while the server publishes those it has."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from opcua import ua
from opcua.server.internal_subscription import InternalSubscription

TEMPERATURE, PRESSURE = 1, 2


@pytest.fixture
def published():
    return []


@pytest.fixture
def subscription(published):
    def publish(result):
        for notification in result.NotificationMessage.NotificationData:
            published.extend(item.Value for item in notification.MonitoredItems)

    settings = ua.CreateSubscriptionResult()
    settings.RevisedPublishingInterval = 100
    settings.RevisedLifetimeCount = 3000
    settings.RevisedMaxKeepAliveCount = 10
    return InternalSubscription(None, settings, None, publish)


def changed(item, value):
    notification = ua.MonitoredItemNotification()
    notification.ClientHandle, notification.Value = item, value
    return notification


def test_every_value_is_published(subscription, published):
    stopped = threading.Event()

    def publish():
        while not stopped.wait(0.01):
            subscription.publish_results()

    subscription.enqueue_datachange_event(TEMPERATURE, changed(TEMPERATURE, 20), 10)
    with ThreadPoolExecutor(1) as loop:
        publishing = loop.submit(publish)
        for value in (3, 4):
            subscription.enqueue_datachange_event(PRESSURE, changed(PRESSURE, value), 10)
        stopped.set()
        publishing.result(timeout=5)
    subscription.publish_results()

    assert sorted(published) == [3, 4, 20]
