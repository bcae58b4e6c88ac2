# SPDX-License-Identifier: Apache-2.0
"""A batch from a request: nothing of it is believed before it was checked."""

from __future__ import annotations

import anyio
from starlette.exceptions import HTTPException
from starlette.requests import Request

from unsnarl.errors import UsageError
from unsnarl.model.anomaly import BATCH_BYTES_MOST, AnomalyBatch, decoded

SECONDS = 20  # for a body: who sends byte by byte does not keep a connection for ever


async def received(request: Request) -> AnomalyBatch:
    """The batch in a request's body; raises HTTPException where there is none."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise HTTPException(415, "a batch is sent as application/json")
    if request.headers.get("content-encoding", "identity") != "identity":
        raise HTTPException(415, "a batch is sent as it is, not compressed")
    try:
        with anyio.fail_after(SECONDS):
            body = await _body(request)
    except TimeoutError:
        raise HTTPException(408, f"the body took more than {SECONDS} s") from None
    try:
        return decoded(body)
    except UsageError as error:
        raise HTTPException(400, f"{error.message} [{error.slug}]") from None


async def _body(request: Request) -> bytes:
    """At most as much as a batch may have, whatever the header claims."""
    claimed = request.headers.get("content-length", "")
    # Others than digits come as far as this only from servers that do not look.
    if claimed.isdecimal() and int(claimed) > BATCH_BYTES_MOST:
        raise _too_large()
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > BATCH_BYTES_MOST:
            raise _too_large()
    return bytes(body)


def _too_large() -> HTTPException:
    return HTTPException(413, f"a batch has at most {BATCH_BYTES_MOST} bytes")
