# SPDX-License-Identifier: Apache-2.0
"""Serving on the loopback interface until somebody ends it."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from unsnarl.http.listening import LOOPBACK, listening, run
from unsnarl.serve.app import make_app


def serve(port: int, on_start: Callable[[str], None]) -> None:
    """Serve the current directory's project.

    Args:
        port: 0 for one that is free.
        on_start: Called with the address, which has the token, once connections are accepted.
    """
    token = secrets.token_urlsafe(32)
    with listening(port) as listener:
        port = listener.getsockname()[1]
        on_start(f"http://{LOOPBACK}:{port}/?token={token}")
        run(lambda is_ending: make_app(token, port, is_ending), listener)
