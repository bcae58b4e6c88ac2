# SPDX-License-Identifier: Apache-2.0
"""Listeners by topic."""

import threading


class Registry:
    """Who wants to hear of what."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._topics: dict[str, list[int]] = {}

    def add(self, topic: str, listener: int) -> None:
        """Add a listener."""
        with self._lock:
            if topic not in self._topics:
                self._topics[topic] = []
            self._topics[topic].append(listener)

    def drop(self, topic: str) -> None:
        """Forget a topic."""
        with self._lock:
            self._topics.pop(topic, None)

    def listeners(self) -> int:
        """How many there are."""
        with self._lock:
            count = 0
            for topic in self._topics:
                count += len(self._topics[topic])
            return count
