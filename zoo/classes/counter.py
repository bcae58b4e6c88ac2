# SPDX-License-Identifier: Apache-2.0
"""Votes by name, and how many there were."""

import threading


class Counter:
    """Counts votes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._votes: dict[str, int] = {}

    def vote(self, name: str) -> int:
        """Count a vote; gives how many this name has now."""
        before = self.votes(name)
        with self._lock:
            self._votes[name] = before + 1
        return before + 1

    def votes(self, name: str) -> int:
        """How many votes a name has."""
        with self._lock:
            return self._votes.get(name, 0)

    def total(self) -> int:
        """All votes."""
        with self._lock:
            return sum(self._votes.values())
