# SPDX-License-Identifier: Apache-2.0
"""The application: which address has which page. It reads what is stored and runs nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import anyio
import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from unsnarl.errors import UnsnarlError
from unsnarl.http.guard import Guard, TokenEntry, policy
from unsnarl.http.listening import own_hosts
from unsnarl.http.page import asset_routes
from unsnarl.serve.pages import ASSETS, campaign_page, error_page, list_page
from unsnarl.workflows.watch import (
    WatchedState,
    watched_campaign,
    watched_campaigns,
    watched_report,
    watched_state,
)

SECONDS = 0.5  # between two looks at the disk, for somebody who watches
POLICY = policy(script_src="'self'", connect_src="'self'", frame_src="'self'")
# Of the report: it has a policy of its own in it, by hashes; this one keeps it in its frame.
REPORT_POLICY = "sandbox allow-scripts; frame-ancestors 'self'"


# No `async`: these read files, so Starlette calls them in threads.
def campaigns(_: Request) -> Response:
    """The list."""
    revision = watched_state().revision
    return HTMLResponse(list_page(Path.cwd().name, watched_campaigns(), revision))


def campaign(request: Request) -> Response:
    """One campaign."""
    name = request.path_params["name"]
    revision = watched_state(name).revision
    one = watched_campaign(name)
    return HTMLResponse(campaign_page(one, revision, bool(one.verdict)))


def report(request: Request) -> Response:
    """The HTML report of one, as `unsnarl report` writes it."""
    document = watched_report(request.path_params["name"])
    if document is None:
        return HTMLResponse(error_page("There is no report."), 404)
    return HTMLResponse(document, headers={"content-security-policy": REPORT_POLICY})


def _events(is_ending: Callable[[], bool]) -> Callable[[Request], Awaitable[Response]]:
    """What changes, as server-sent events."""

    async def events(request: Request) -> Response:
        name = request.query_params.get("campaign", "")
        return StreamingResponse(_states(name, is_ending), media_type="text/event-stream")

    return events


async def _states(name: str, is_ending: Callable[[], bool]) -> AsyncIterator[bytes]:
    """Each state that differs from the one before; Starlette ends this when nobody listens."""
    latest: WatchedState | None = None
    while not is_ending():
        state = await anyio.to_thread.run_sync(watched_state, name)
        # A comment, where nothing is new: by it a listener that has gone is noticed.
        yield b": \n\n" if state == latest else b"data: " + msgspec.json.encode(state) + b"\n\n"
        latest = state
        await anyio.sleep(SECONDS)


async def _failed(_: Request, error: Exception) -> Response:
    assert isinstance(error, UnsnarlError)
    status = 404 if error.slug == "no-campaign" else 500
    return HTMLResponse(error_page(f"{error.message} [{error.slug}]"), status)


def make_app(token: str, port: int, is_ending: Callable[[], bool]) -> Starlette:
    """The application for the project of the current directory.

    Args:
        is_ending: Whether connections that stay open should be closed.
    """
    routes = [
        Route("/", campaigns, methods=["GET"]),
        Route("/campaign/{name}", campaign, methods=["GET"]),
        Route("/campaign/{name}/report", report, methods=["GET"]),
        Route("/events", _events(is_ending), methods=["GET"]),
    ]
    entry = TokenEntry([token], "unsnarl serve", port)
    guard = Middleware(Guard, hosts=own_hosts(port), admission=entry.admission, policy=POLICY)
    return Starlette(
        routes=routes + asset_routes("unsnarl.serve", ASSETS),
        middleware=[guard],
        exception_handlers={UnsnarlError: _failed},
    )
