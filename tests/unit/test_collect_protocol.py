# SPDX-License-Identifier: Apache-2.0
"""Connections to the collector that say too much, or too little, before any token."""

from __future__ import annotations

import asyncio

import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from uvicorn.server import ServerState

MUCH = 1 << 19  # more than is allowed, and more than comes in at once
REQUEST = b"POST / HTTP/1.1\r\nHost: x\r\n"
LINES = [b"x-a: " + b"y" * 8000 + b"\r\n"] * (MUCH // 8000)
PIECES = [b"3e8\r\n" + b"y" * 1000 + b"\r\n"] * 1000
WHOLE = REQUEST + b"Content-Length: 2\r\n\r\n{}"


async def application(scope, receive, send):
    while (await receive()).get("more_body"):
        pass
    await PlainTextResponse("heard")(scope, receive, send)


def answer(*pieces):
    """What a server says to these bytes until it ends the connection; "" if it just ends it."""

    from unsnarl.collect.protocol import BoundedProtocol  # other Pythons have no httptools

    async def ask():
        config = uvicorn.Config(application, lifespan="off", log_level="critical")
        config.load()
        state = ServerState()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: BoundedProtocol(config, state, {}), "127.0.0.1", 0
        )
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            try:
                for piece in pieces:
                    writer.write(piece)
                    await writer.drain()
                return await reader.read()
            except ConnectionError:
                return b""
            finally:
                writer.close()

    return asyncio.run(ask())


def heard(*pieces):
    return b"heard" in answer(*pieces, b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")


@pytest.mark.parametrize(
    "pieces",
    [
        [REQUEST, *LINES],
        [b"POST /", *[b"a" * 8000] * len(LINES)],
        [REQUEST + b"x-a: ", *[b"a" * 8000] * len(LINES)],
        [REQUEST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", *LINES],
    ],
    ids=["headers", "line", "one header", "trailers"],
)
def test_a_head_without_an_end_ends_the_connection(pieces):
    assert b"heard" not in answer(*pieces)


def test_a_body_may_be_larger_than_a_head():
    assert heard(REQUEST + b"Transfer-Encoding: chunked\r\n\r\n", *PIECES, b"0\r\n\r\n")
    assert heard(REQUEST + b"Content-Length: 1000000\r\n\r\n", b"y" * 1_000_000)


def test_requests_of_one_connection_do_not_add_up():
    assert heard(*[WHOLE] * 10, b"")


@pytest.mark.parametrize("pieces", [[], [b"POST"], [REQUEST], [WHOLE, REQUEST]])
def test_a_head_that_does_not_come_is_not_waited_for(pieces, monkeypatch):
    monkeypatch.setattr("unsnarl.collect.protocol.SECONDS", 0.05)
    found = answer(*pieces)
    assert found.count(b"heard") == pieces.count(WHOLE)
