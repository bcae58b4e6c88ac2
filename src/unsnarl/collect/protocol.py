# SPDX-License-Identifier: Apache-2.0
"""Limits on what comes before anybody can be asked for a token.

uvicorn bounds the head of a request when h11 parses it, but not when httptools does, which takes
two thirds of the time; and neither waits for a head for a limited time only.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

# Of a request: its line and headers, and what is around pieces of its body. A socket gives us as
# much at once, so that a little more may come in before it is noticed.
BYTES_MOST = 1 << 18
SECONDS = 20  # until a head is complete, of a connection that was made or that goes on


class BoundedProtocol(HttpToolsProtocol):
    """A connection that ends when its sender is too slow, or has too much to say."""

    _around = 0
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The first head is waited for from now on."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count what is no body."""
        self._around += len(data)
        super().data_received(data)
        if self._around > BYTES_MOST:
            self.transport.abort()

    def on_message_begin(self) -> None:
        """A request begins, maybe not the first one."""
        super().on_message_begin()
        self._around = 0
        self._wait()

    def on_headers_complete(self) -> None:
        """From here on the application decides."""
        self._stop_waiting()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """The application counts these."""
        self._around -= len(body)
        super().on_body(body)

    def _wait(self) -> None:
        self._stop_waiting()
        self._deadline = self.loop.call_later(SECONDS, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
