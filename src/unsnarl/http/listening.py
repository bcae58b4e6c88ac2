# SPDX-License-Identifier: Apache-2.0
"""Listening and serving until somebody ends it."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from unsnarl.errors import UsageError

LOOPBACK = "127.0.0.1"
# By which this machine calls itself.
NAMES = (LOOPBACK, "localhost", "[::1]")
PATIENCE = 5  # seconds, for answers that are being made when it ends


def own_hosts(port: int) -> set[str]:
    """What browsers on this machine have as Host."""
    return {f"{name}:{port}" for name in NAMES}


def listening(port: int, host: str = LOOPBACK, backlog: int = 128) -> socket.socket:
    """A socket that accepts connections; port 0 for one that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=backlog)
    except OSError as error:
        asked = f"--port {port}" if host == LOOPBACK else f"--host {host} --port {port}"
        raise UsageError("bad-argument", f"{asked}: {error.strerror}") from None


def run(
    make_app: Callable[[Callable[[], bool]], ASGIApp], listener: socket.socket, **settings: Any
) -> None:
    """Serve until Ctrl-C or SIGTERM.

    Args:
        make_app: Makes the application. It is given whether connections that stay open should be
            closed.
        settings: More of uvicorn's.
    """
    config = uvicorn.Config(
        make_app(lambda: server.should_exit),
        lifespan="off",
        ws="none",
        log_level="warning",
        access_log=False,  # it would show the token
        server_header=False,
        proxy_headers=False,  # nobody in front is believed
        timeout_graceful_shutdown=PATIENCE,
        **settings,
    )
    server = uvicorn.Server(config)
    server.run(sockets=[listener])
