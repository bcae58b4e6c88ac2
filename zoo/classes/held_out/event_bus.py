# SPDX-License-Identifier: Apache-2.0
"""Calls who has subscribed."""

import threading


class EventBus:
    def __init__(self):
        self._subscribers = []
        self._lock = threading.Lock()

    def subscribe(self, callback):
        with self._lock:
            self._subscribers.append(callback)

    def unsubscribe(self, callback):
        with self._lock:
            if callback in self._subscribers:
                self._subscribers.remove(callback)

    def publish(self, message):
        answers = []
        for callback in self._subscribers:
            answers.append(callback(message))
        return answers
