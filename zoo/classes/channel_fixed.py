# SPDX-License-Identifier: Apache-2.0
"""Messages to a connection that may be closed."""

import threading


class Closed(Exception):
    """The channel is closed."""


class Channel:
    """Sends until it is closed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sent: list[str] | None = []

    def send(self, message: str) -> int:
        """Send a message; gives how many were sent. Raises Closed."""
        with self._lock:
            if self._sent is None:
                raise Closed
            self._sent.append(message)
            return len(self._sent)

    def close(self) -> None:
        """Nothing is sent from now on."""
        with self._lock:
            self._sent = None
