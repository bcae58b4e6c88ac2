# SPDX-License-Identifier: Apache-2.0
"""Bodies of requests to the collector that do not come, or do not end."""

from __future__ import annotations

import asyncio

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from tests.integration.collected import batch

from unsnarl.collect import intake
from unsnarl.model.anomaly import BATCH_BYTES_MOST, encoded

HEADERS = [(b"content-type", b"application/json; charset=utf-8")]


def received(*messages, headers=()):
    """What comes of messages of a server; after the last one it is silent."""
    left = list(messages)

    async def receive():
        if not left:
            await asyncio.sleep(600)
        return left.pop(0)

    scope = {"type": "http", "method": "POST", "headers": [*HEADERS, *headers]}
    return asyncio.run(intake.received(Request(scope, receive)))


def piece(body, more=False):
    return {"type": "http.request", "body": body, "more_body": more}


def test_a_batch_may_come_in_pieces():
    sent = batch()
    body = encoded(sent)
    assert received(piece(body[:10], True), piece(body[10:])) == sent


def test_a_body_that_does_not_end_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(intake, "SECONDS", 0.01)
    with pytest.raises(HTTPException) as raised:
        received(piece(b"{", True))
    assert raised.value.status_code == 408


def test_a_sender_that_goes_has_sent_nothing():
    with pytest.raises(ClientDisconnect):
        received(piece(encoded(batch()), True), {"type": "http.disconnect"})


@pytest.mark.parametrize("claimed", [b"", b"7", b"-1", b"x", "٣".encode()])
def test_no_more_is_read_than_a_batch_may_have(claimed):
    headers = [(b"content-length", claimed)] if claimed else []
    pieces = [piece(b" " * BATCH_BYTES_MOST, True), piece(b" ", True)]
    with pytest.raises(HTTPException) as raised:
        received(*pieces, headers=headers)
    assert raised.value.status_code == 413
