# SPDX-License-Identifier: Apache-2.0
"""The application: which address takes or gives what."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from unsnarl.collect import ranking
from unsnarl.collect.admission import ANOMALIES, API, admission
from unsnarl.collect.answers import json, refusal
from unsnarl.collect.databases import Database
from unsnarl.collect.intake import received
from unsnarl.collect.openapi import description
from unsnarl.collect.pages import ASSETS, detail_page, error_page, list_page
from unsnarl.collect.ranking import LIMIT_MOST, Question
from unsnarl.collect.tokens import CollectorTokens
from unsnarl.collect.writer import StoreBusyError, Writer
from unsnarl.errors import UnsnarlError, warn
from unsnarl.http.guard import Guard, policy
from unsnarl.http.page import asset_routes

POLICY = policy(form_action="'self'")  # of the search; no script at all
SEARCH_MOST = 200
OFFSET_MOST = 1_000_000
Found = TypeVar("Found")


class Collector:
    """What each address does.

    Args:
        connect: Opens the database, for each that reads.
    """

    def __init__(self, writer: Writer, connect: Callable[[], Database]) -> None:
        self._writer = writer
        self._connect = connect

    async def take(self, request: Request) -> Response:
        """A batch; 202 says that it is stored."""
        batch = await received(request)
        await self._writer.store(batch)
        return json({"id": batch.id}, 202)

    # No `async` from here on: these wait for the database, so Starlette calls them in threads.
    def ranked(self, request: Request) -> Response:
        """The list, for programs."""
        question = question_of(request.query_params)
        return json(self._read(lambda database: ranking.ranked_anomalies(database, question)))

    def anomaly(self, request: Request) -> Response:
        """One anomaly, for programs."""
        return json(self._detail(request).anomaly)

    def trend(self, request: Request) -> Response:
        """Its trend, for programs."""
        id = request.path_params["id"]
        found = self._read(lambda database: ranking.trend(database, id))
        if found is None:
            raise HTTPException(404, "there is no such anomaly")
        return json(found)

    def list_page(self, request: Request) -> Response:
        """The list, for people."""
        question = question_of(request.query_params)

        def look(database: Database) -> str:
            ranked = ranking.ranked_anomalies(database, question)
            programs = ranking.program_names(database)
            versions = ranking.version_names(database, question.program)
            return list_page(question, ranked, programs, versions)

        return HTMLResponse(self._read(look))

    def detail_page(self, request: Request) -> Response:
        """One anomaly, for people."""
        return HTMLResponse(detail_page(self._detail(request)))

    def _detail(self, request: Request) -> ranking.AnomalyDetail:
        id = request.path_params["id"]
        detail = self._read(lambda database: ranking.anomaly_detail(database, id))
        if detail is None:
            raise HTTPException(404, "there is no such anomaly")
        return detail

    def _read(self, look: Callable[[Database], Found]) -> Found:
        database = self._connect()
        try:
            return look(database)
        except database.unavailable as error:
            raise StoreBusyError(str(error)) from None
        finally:
            database.close()


def question_of(parameters: Mapping[str, str]) -> Question:
    """What an address asks for; raises HTTPException where it asks for nonsense."""
    given = {name: value for name, value in parameters.items() if value}
    try:
        question = msgspec.convert(given, Question, strict=False)
    except msgspec.ValidationError as error:
        raise HTTPException(400, str(error)) from None
    if not 0 < question.limit <= LIMIT_MOST or not 0 <= question.offset <= OFFSET_MOST:
        raise HTTPException(400, f"limit is 1 to {LIMIT_MOST}, offset 0 to {OFFSET_MOST}")
    if len(question.search) > SEARCH_MOST:
        raise HTTPException(400, f"search has at most {SEARCH_MOST} characters")
    return question


def _failed(request: Request, error: Exception) -> Response:
    """As JSON or as a page, whichever was asked for."""
    status, message = _problem(error)
    if request.scope["path"].startswith(API):
        return refusal(status, message)
    return HTMLResponse(error_page(message), status)


def _problem(error: Exception) -> tuple[int, str]:
    if isinstance(error, HTTPException):
        return error.status_code, error.detail
    if isinstance(error, ClientDisconnect):
        return 400, "the body has ended before its end"
    if isinstance(error, UnsnarlError):
        warn(error.slug, error.message, error.hint)
    return 503, "the store does not answer, or too many batches wait; try once more later"


def make_app(
    tokens: CollectorTokens,
    port: int,
    hosts: Collection[str],
    writer: Writer,
    connect: Callable[[], Database],
) -> Starlette:
    """The application of one store."""
    collector = Collector(writer, connect)
    document = description()
    one = f"{ANOMALIES}/{{id}}"
    routes = [
        Route(ANOMALIES, collector.take, methods=["POST"]),
        Route(ANOMALIES, collector.ranked, methods=["GET"]),
        Route(one, collector.anomaly, methods=["GET"]),
        Route(f"{one}/trend", collector.trend, methods=["GET"]),
        Route(f"{API}openapi.json", lambda _: json(document), methods=["GET"]),
        Route("/", collector.list_page, methods=["GET"]),
        Route("/anomaly/{id}", collector.detail_page, methods=["GET"]),
        *asset_routes("unsnarl.collect", ASSETS),
    ]
    guard = Middleware(Guard, hosts=hosts, admission=admission(tokens, port), policy=POLICY)
    shown = (HTTPException, StoreBusyError, UnsnarlError, ClientDisconnect)
    return Starlette(
        routes=routes,
        middleware=[guard],
        exception_handlers=dict.fromkeys(shown, _failed),
    )
