# SPDX-License-Identifier: Apache-2.0
"""Serving on the loopback interface until somebody ends it."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable

import uvicorn

from unsnarl.errors import UsageError
from unsnarl.serve.app import make_app

LOOPBACK = "127.0.0.1"
PATIENCE = 5  # seconds, for pages that are being made when it ends


def serve(port: int, on_start: Callable[[str], None]) -> None:
    """Serve the current directory's project.

    Args:
        port: 0 for one that is free.
        on_start: Called with the address, which has the token, once connections are accepted.
    """
    token = secrets.token_urlsafe(32)
    with _listening(port) as listener:
        port = listener.getsockname()[1]
        settings = uvicorn.Config(
            make_app(token, port, lambda: server.should_exit),
            lifespan="off",
            log_level="warning",
            access_log=False,  # it would show the token
            server_header=False,
            timeout_graceful_shutdown=PATIENCE,
        )
        server = uvicorn.Server(settings)
        on_start(f"http://{LOOPBACK}:{port}/?token={token}")
        server.run(sockets=[listener])


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server((LOOPBACK, port))
    except OSError as error:
        raise UsageError("bad-argument", f"--port {port}: {error.strerror}") from None
