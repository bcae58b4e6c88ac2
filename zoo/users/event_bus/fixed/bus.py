# SPDX-License-Identifier: Apache-2.0
"""Publish and subscribe within one process."""

import threading
from collections import defaultdict


class EventBus:
    def __init__(self):
        self._subscribers = defaultdict(list)
        self._lock = threading.Lock()

    def subscribe(self, topic, callback):
        with self._lock:
            self._subscribers[topic].append(callback)
        return lambda: self.unsubscribe(topic, callback)

    def unsubscribe(self, topic, callback):
        with self._lock:
            self._subscribers[topic].remove(callback)

    def publish(self, topic, event):
        with self._lock:
            callbacks = list(self._subscribers[topic])
        for callback in callbacks:
            callback(event)
