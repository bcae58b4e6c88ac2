# SPDX-License-Identifier: Apache-2.0
"""Answers of the API: JSON, also where something is refused."""

from __future__ import annotations

import msgspec
from starlette.responses import Response

JSON = "application/json"


class Message(msgspec.Struct, frozen=True):
    """Why something was refused."""

    message: str


def json(value: object, status: int = 200, **headers: str) -> Response:
    """A value."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Response(msgspec.json.encode(value), status, named, JSON)


def refusal(status: int, message: str) -> Response:
    """Why not."""
    headers = {"www_authenticate": "Bearer"} if status == 401 else {}
    if status == 503:
        headers["retry_after"] = "5"
    return json(Message(message), status, **headers)
