# SPDX-License-Identifier: Apache-2.0
"""Collecting until somebody ends it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

import msgspec

from unsnarl.collect.app import make_app
from unsnarl.collect.databases import SCHEMES, Database, open_database, unusable
from unsnarl.collect.protocol import BoundedProtocol
from unsnarl.collect.schema import prepare
from unsnarl.collect.tokens import tokens_of
from unsnarl.collect.writer import Writer
from unsnarl.errors import UsageError
from unsnarl.http.listening import LOOPBACK, listening, own_hosts, run

FOLDER = Path(".unsnarl", "collector")
STORE, TOKENS = FOLDER / "anomalies.sqlite", FOLDER / "tokens"
LOOPBACKS = (LOOPBACK, "::1", "localhost")
CONNECTIONS = 1000
BACKLOG = 1024


class CollectorSettings(msgspec.Struct, frozen=True):
    """How to collect.

    Attributes:
        store: A file, or the URL of a PostgreSQL server; "" for a file in `.unsnarl`.
        tokens: The folder of the tokens; None for the one in `.unsnarl`.
        names: By which others call this machine, as browsers and programs ask for it.
        days: How long is kept what nobody sends any more.
    """

    store: str = ""
    host: str = LOOPBACK
    port: int = 0
    tokens: Path | None = None
    names: tuple[str, ...] = ()
    days: int = 90


def collect(settings: CollectorSettings, on_start: Callable[[str], None]) -> None:
    """Take anomalies and show them.

    Args:
        on_start: Called with what to open, and where to send, once connections are accepted.
    """
    if settings.host not in LOOPBACKS and settings.tokens is None:
        raise UsageError(
            "bad-argument",
            f"--host {settings.host} is for other machines, so it needs --tokens FOLDER",
            "The folder is made, with new tokens, if it is not there.",
        )
    folder = settings.tokens or TOKENS
    tokens = tokens_of(folder)
    store = settings.store or str(STORE)
    if not store.startswith(SCHEMES):
        _make_private(Path(store))
    with listening(settings.port, settings.host, BACKLOG) as listener:
        port: int = listener.getsockname()[1]

        def connect() -> Database:
            return open_database(store)

        with Writer(lambda: _prepared(store), settings.days) as writer:
            shown = _shown_host(settings)
            on_start(f"http://{shown}:{port}/?token={tokens.read[0]}")
            on_start(f"watched programs send with the token in {folder / 'send'}")
            hosts = _hosts(settings.host, settings.names, port)
            run(
                lambda _: make_app(tokens, port, hosts, writer, connect),
                listener,
                http=BoundedProtocol,
                limit_concurrency=CONNECTIONS,
            )


def _shown_host(settings: CollectorSettings) -> str:
    """What to open: others know this machine by its name."""
    is_local = settings.host in LOOPBACKS or not settings.names
    return _bracketed(settings.host) if is_local else settings.names[0]


def _prepared(store: str) -> Database:
    database = open_database(store)
    try:
        prepare(database)
    except database.unavailable as error:
        database.close()
        raise unusable(store, error) from None
    return database


def _make_private(file: Path) -> None:
    """What programs send names their code: for the owner's eyes."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(0o600)
    except OSError as error:
        raise unusable(str(file), error) from None


def _hosts(host: str, names: Collection[str], port: int) -> set[str]:
    """What may stand as Host; a proxy in front may leave its own port out."""
    named = {f"{name}:{port}" for name in names} | set(names)
    return own_hosts(port) | {f"{_bracketed(host)}:{port}"} | named


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
