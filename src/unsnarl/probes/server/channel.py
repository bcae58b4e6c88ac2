# SPDX-License-Identifier: Apache-2.0
"""The line to the parent: one JSON text a line over a socket."""

from __future__ import annotations

import json
import os
from typing import Any

_CHUNK = 1 << 16


class Channel:
    """The server's end of the socket."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        os.set_inheritable(fd, False)
        self._rest = b""

    def send(self, message: dict[str, Any]) -> None:
        """Write one message. A parent that has gone is noticed when reading."""
        data = json.dumps(message).encode() + b"\n"
        try:
            while data:
                data = data[os.write(self.fd, data) :]
        except (BrokenPipeError, ConnectionResetError):
            pass

    def receive(self) -> list[dict[str, Any]] | None:
        """The whole messages that have come, after waiting for some bytes; None at the end."""
        try:
            data = os.read(self.fd, _CHUNK)
        except ConnectionResetError:
            data = b""
        if not data:
            return None
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def receive_one(self) -> dict[str, Any] | None:
        """The first message; the parent sends no second before it has the answer."""
        while True:
            messages = self.receive()
            if messages is None:
                return None
            if messages:
                return messages[0]

    def close(self) -> None:
        """In a child: the parent must see the end of the server, whatever its children do."""
        os.close(self.fd)
