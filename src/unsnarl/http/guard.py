# SPDX-License-Identifier: Apache-2.0
"""Who may ask, and what browsers may do with the answers.

Another page in the same browser must not be able to read anything here, nor another user of the
machine. So the address has a token, which becomes a cookie; the name that was asked for must be
one of the server's own, since a name of somebody else's can be made to point here (DNS rebinding);
and every answer has a policy that allows what it needs and nothing else.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Collection, Mapping, MutableMapping, Sequence
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
# A refusal, or the way to the address without the token; None for what may pass.
Admission = Callable[[Request], Response | None]


def policy(**more: str) -> str:
    """A content security policy: nothing, our own style, and what is named."""
    allowed = {
        "default-src": "'none'",
        "style-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    allowed |= {name.replace("_", "-"): value for name, value in more.items()}
    return "; ".join(f"{name} {value}" for name, value in allowed.items())


def is_one_of(given: str, tokens: Sequence[str]) -> bool:
    """Whether it is a token, in a time that does not show how much of it is right."""
    matches = [hmac.compare_digest(given.encode(), token.encode()) for token in tokens]
    return any(matches)


class Guard:
    """Stands before the application: asks for the name, then `admission`; adds the headers."""

    def __init__(
        self, app: ASGIApp, *, hosts: Collection[str], admission: Admission, policy: str
    ) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)
        self._admission = admission
        self._headers: Mapping[str, str] = {"content-security-policy": policy, **HEADERS}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Called by the server, for every request."""

        async def send_guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        if scope["type"] == "http":
            answer = self._answer(Request(scope)) or self._app
            await answer(scope, receive, send_guarded)

    def _answer(self, request: Request) -> Response | None:
        if request.headers.get("host", "").lower() not in self._hosts:
            return PlainTextResponse("this server answers to its own names only", 421)
        return self._admission(request)


class TokenEntry:
    """The way in for browsers: by the token of an address once, by a cookie from then on.

    Args:
        tokens: Any of them will do.
        command: Whose address has one, for whoever comes without.
    """

    def __init__(self, tokens: Sequence[str], command: str, port: int) -> None:
        self._tokens = tokens
        self._command = command
        # Cookies do not know ports: two servers must not take each other's.
        self._cookie = f"unsnarl-{port}"

    def admission(self, request: Request) -> Response | None:
        """For pages: they are read, and nothing else."""
        if request.method not in ("GET", "HEAD"):
            return PlainTextResponse("there is nothing to be changed here", 405)
        given = request.query_params.get("token")
        if not is_one_of(given or request.cookies.get(self._cookie, ""), self._tokens):
            return PlainTextResponse(f"open the whole address that {self._command} prints", 403)
        return self._entered(request, given) if given else None

    def _entered(self, request: Request, token: str) -> Response:
        """The token goes from the address, where histories and screens show it, to a cookie."""
        # The path of an address like //elsewhere.org would lead there.
        response = RedirectResponse("/" + request.url.path.lstrip("/"), 303)
        response.set_cookie(self._cookie, token, httponly=True, samesite="lax")
        return response
