# SPDX-License-Identifier: Apache-2.0
"""Who may ask, and what browsers may do with the answers.

Another page in the same browser must not be able to read anything here, nor another user of the
machine. So the address has a token, which becomes a cookie; the name that was asked for must be
this machine's own, since a name of somebody else's can be made to point here (DNS rebinding); and
every answer has a policy that allows what it needs and nothing else.
"""

from __future__ import annotations

import hmac
from collections.abc import MutableMapping
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

NAMES = ("127.0.0.1", "localhost", "[::1]")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Guard:
    """Stands before the application: asks for name and token, adds the headers."""

    def __init__(self, app: ASGIApp, *, token: str, port: int) -> None:
        self._app = app
        self._token = token
        self._hosts = {f"{name}:{port}" for name in NAMES}
        # Cookies do not know ports: two servers must not take each other's.
        self._cookie = f"unsnarl-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Called by the server, for every request."""

        async def send_guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        if scope["type"] == "http":
            answer = self._answer(Request(scope)) or self._app
            await answer(scope, receive, send_guarded)

    def _answer(self, request: Request) -> Response | None:
        """A refusal, or the way to the address without the token; None for what may pass."""
        if request.headers.get("host", "").lower() not in self._hosts:
            return PlainTextResponse("unsnarl serve answers to this machine's own names only", 421)
        if request.method not in ("GET", "HEAD"):
            return PlainTextResponse("there is nothing to be changed here", 405)
        given = request.query_params.get("token")
        if not self._is_right(given or request.cookies.get(self._cookie, "")):
            return PlainTextResponse("open the whole address that unsnarl serve has printed", 403)
        return self._entered(request) if given else None

    def _is_right(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self._token.encode())

    def _entered(self, request: Request) -> Response:
        """The token goes from the address, where histories and screens show it, to a cookie."""
        # The path of an address like //elsewhere.org would lead there.
        response = RedirectResponse("/" + request.url.path.lstrip("/"), 303)
        response.set_cookie(self._cookie, self._token, httponly=True, samesite="lax")
        return response
