# SPDX-License-Identifier: Apache-2.0
"""A file of SQLite's or a server of PostgreSQL's, behind one interface; SQL has `?` for values."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from unsnarl.errors import ToolError

if TYPE_CHECKING:
    import psycopg

Row = tuple[Any, ...]
SCHEMES = ("postgresql://", "postgres://")
SECONDS = 10  # to wait for a server, or for another process that writes
RETURNING = (3, 35, 0)  # the first SQLite that has it
# Any number, the same for all collectors of a database: one of them writes at a time.
LOCK = 5_407_921


class Database(Protocol):
    """One connection. `unavailable` are its errors that may go away by themselves."""

    unavailable: tuple[type[Exception], ...]

    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing, and durable when it ends; nobody else writes meanwhile."""

    def each(self, sql: str, rows: Sequence[Row]) -> list[Row | None]:
        """A statement for every row; what it returns for each, if it returns something."""

    def rows(self, sql: str, values: Row = ()) -> list[Row]:
        """The answer to a query."""

    def close(self) -> None:
        """Give the connection up."""


def open_database(store: str) -> Database:
    """By a file's name or the URL of a server; raises ToolError (`store-unusable`)."""
    if store.startswith(SCHEMES):
        return _postgresql(store)
    try:
        return SqliteDatabase(Path(store))
    except (sqlite3.Error, OSError) as error:
        raise unusable(store, error) from None


def unusable(store: str, error: Exception) -> ToolError:
    """Why a store cannot be used. The URL of a server is not shown: it may have a password."""
    name = "the server" if store.startswith(SCHEMES) else store
    return ToolError("store-unusable", f"{name} cannot be used as a store: {error}")


class SqliteDatabase:
    """In a file. Who reads does not wait for who writes, nor the other way round."""

    unavailable: tuple[type[Exception], ...] = (sqlite3.OperationalError,)

    def __init__(self, file: Path) -> None:
        if sqlite3.sqlite_version_info < RETURNING:
            raise OSError(f"SQLite {sqlite3.sqlite_version} is too old, 3.35 is needed")
        # Transactions are ours to begin. Threads share it one after the other.
        self._connection = sqlite3.connect(
            file, timeout=SECONDS, isolation_level=None, check_same_thread=False
        )
        self._connection.execute("PRAGMA journal_mode = WAL")
        # What is acknowledged survives a loss of power, too, and not only of the process.
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.create_function("ln", 1, math.log, deterministic=True)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def each(self, sql: str, rows: Sequence[Row]) -> list[Row | None]:
        """A statement for every row."""
        return [self._connection.execute(sql, row).fetchone() for row in rows]

    def rows(self, sql: str, values: Row = ()) -> list[Row]:
        """The answer to a query."""
        return self._connection.execute(sql, values).fetchall()

    def close(self) -> None:
        """Give the file up."""
        self._connection.close()


class PostgresqlDatabase:
    """On a server."""

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        import psycopg  # noqa: PLC0415  only where it is installed

        self.unavailable: tuple[type[Exception], ...] = (
            psycopg.OperationalError,
            psycopg.InterfaceError,
        )
        self._connection = connection

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing."""
        with self._connection.transaction():
            self._connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
            yield

    def each(self, sql: str, rows: Sequence[Row]) -> list[Row | None]:
        """A statement for every row, sent all at once."""
        if not rows:
            return []
        cursor = self._connection.cursor()
        returning = "RETURNING " in sql
        cursor.executemany(_formatted(sql), rows, returning=returning)
        if not returning:
            return [None] * len(rows)
        found = [cursor.fetchone()]
        while cursor.nextset():
            found.append(cursor.fetchone())
        return found

    def rows(self, sql: str, values: Row = ()) -> list[Row]:
        """The answer to a query."""
        cursor = self._connection.execute(_formatted(sql), values)
        return cursor.fetchall() if cursor.description else []

    def close(self) -> None:
        """Leave the server."""
        self._connection.close()


def _postgresql(url: str) -> Database:
    try:
        import psycopg  # noqa: PLC0415  only where it is installed
    except ModuleNotFoundError:
        raise ToolError(
            "postgres-missing", "psycopg is not installed", "pip install 'unsnarl[postgres]'"
        ) from None
    try:
        return PostgresqlDatabase(psycopg.connect(url, autocommit=True, connect_timeout=SECONDS))
    except psycopg.Error as error:
        raise unusable(url, error) from None


def _formatted(sql: str) -> bytes:
    """As psycopg wants it; as bytes, since it takes text for granted only where it is constant."""
    return sql.replace("?", "%s").encode()
