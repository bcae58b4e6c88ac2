# SPDX-License-Identifier: Apache-2.0
"""Which token opens what: programs send, people and their tools read."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from unsnarl.collect.answers import refusal
from unsnarl.collect.tokens import CollectorTokens
from unsnarl.http.guard import Admission, TokenEntry, is_one_of

API = "/v1/"
ANOMALIES = f"{API}anomalies"


def admission(tokens: CollectorTokens, port: int) -> Admission:
    """Of the API by the token of a header, of pages by that of the address or a cookie."""
    entry = TokenEntry(tokens.read, "unsnarl collect", port)

    def admit(request: Request) -> Response | None:
        if not request.scope["path"].startswith(API):
            return entry.admission(request)
        header = request.headers.get("authorization", "")
        # A browser that has come in may read the API; nothing is sent by a cookie.
        if not header and request.method == "GET" and entry.admission(request) is None:
            return None
        return _by_header(request, header, tokens)

    return admit


def _by_header(request: Request, header: str, tokens: CollectorTokens) -> Response | None:
    scheme, _, token = header.partition(" ")
    is_sender = scheme.lower() == "bearer" and is_one_of(token, tokens.send)
    is_reader = scheme.lower() == "bearer" and is_one_of(token, tokens.read)
    if not is_sender and not is_reader:
        return refusal(401, "this needs the token of a header: Authorization: Bearer TOKEN")
    if request.method == "POST":
        return None if is_sender else refusal(403, "this token is to read, not to send")
    if request.method in ("GET", "HEAD"):
        return None if is_reader else refusal(403, "this token is to send, not to read")
    return refusal(405, "there is nothing to be changed here")
