# SPDX-License-Identifier: Apache-2.0
"""Publish and subscribe within one process."""

from collections import defaultdict


class EventBus:
    def __init__(self):
        self._subscribers = defaultdict(list)

    def subscribe(self, topic, callback):
        self._subscribers[topic].append(callback)
        return lambda: self.unsubscribe(topic, callback)

    def unsubscribe(self, topic, callback):
        self._subscribers[topic].remove(callback)

    def publish(self, topic, event):
        for callback in self._subscribers[topic]:
            callback(event)
