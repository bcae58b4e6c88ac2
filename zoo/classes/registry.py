# SPDX-License-Identifier: Apache-2.0
"""Listeners by topic."""


class Registry:
    """Who wants to hear of what."""

    def __init__(self) -> None:
        self._topics: dict[str, list[int]] = {}

    def add(self, topic: str, listener: int) -> None:
        """Add a listener."""
        if topic not in self._topics:
            self._topics[topic] = []
        self._topics[topic].append(listener)

    def drop(self, topic: str) -> None:
        """Forget a topic."""
        self._topics.pop(topic, None)

    def listeners(self) -> int:
        """How many there are."""
        count = 0
        for topic in self._topics:
            count += len(self._topics[topic])
        return count
