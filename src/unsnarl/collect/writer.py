# SPDX-License-Identifier: Apache-2.0
"""One thread writes: what has come while a transaction was under way is the next transaction.

A commit waits for the disk; a thousand of them in a second would wait for nothing else. So a batch
is acknowledged when the transaction that it is in has ended, with all others of that transaction.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from unsnarl.collect.databases import Database
from unsnarl.collect.storing import add, prune
from unsnarl.errors import UnsnarlError, warn
from unsnarl.model.anomaly import AnomalyBatch

GROUP_MOST = 500  # batches of one transaction
WAITING_MOST = 5000  # batches that are neither stored nor refused
PRUNE_SECONDS = 3600


class StoreBusyError(Exception):
    """The batch was not stored: too many wait, or the database does not answer."""


@dataclass(frozen=True)
class _Waiting:
    batch: AnomalyBatch
    stored: asyncio.Future[None]


class Writer:
    """The only one that writes into a store.

    Args:
        connect: Opens the database, also after it was lost.
        days: How long is kept what nobody sends any more.
    """

    def __init__(self, connect: Callable[[], Database], days: int) -> None:
        self._connect = connect
        self._days = days
        self._database: Database | None = None
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._waiting = 0
        self._thread = threading.Thread(target=self._run, name="writer")

    def __enter__(self) -> Writer:
        self._database = self._connect()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._queue.put(None)
        self._thread.join()

    async def store(self, batch: AnomalyBatch) -> None:
        """Returns when the batch is on the disk; raises StoreBusyError where it is not."""
        if self._waiting >= WAITING_MOST:
            raise StoreBusyError
        stored = asyncio.get_running_loop().create_future()
        self._waiting += 1
        stored.add_done_callback(self._done)
        self._queue.put(_Waiting(batch, stored))
        await stored

    def _done(self, _: asyncio.Future[None]) -> None:
        self._waiting -= 1

    def _run(self) -> None:
        prune_at = time.monotonic()
        while (group := self._next_group(prune_at - time.monotonic())) is not None:
            if group:
                self._store(group)
            if time.monotonic() >= prune_at:
                self._prune()
                prune_at = time.monotonic() + PRUNE_SECONDS
        if self._database is not None:
            self._database.close()

    def _next_group(self, seconds: float) -> list[_Waiting] | None:
        """All that have come, at least one; nobody after some seconds; None at the end."""
        group: list[_Waiting] = []
        try:
            one = self._queue.get(timeout=max(seconds, 0))
            while one is not None:
                group.append(one)
                if len(group) == GROUP_MOST:
                    return group
                one = self._queue.get_nowait()
        except queue.Empty:
            return group
        if group:
            self._queue.put(None)  # the end, after these
            return group
        return None

    def _store(self, group: Sequence[_Waiting]) -> None:
        error = self._tried([one.batch for one in group])
        if error is None or isinstance(error, StoreBusyError) or len(group) == 1:
            _answer(group, error)
            return
        for one in group:  # what one of them has wrong must not cost the others theirs
            _answer([one], self._tried([one.batch]))

    def _tried(self, batches: Sequence[AnomalyBatch]) -> Exception | None:
        """Why they are not stored; None if they are."""
        try:
            self._database = self._database or self._connect()
        except UnsnarlError as error:
            return StoreBusyError(str(error))
        try:
            add(self._database, batches, time.time())
        except self._database.unavailable as error:
            self._lose(self._database, error)
            return StoreBusyError(str(error))
        except Exception as error:
            return error
        return None

    def _prune(self) -> None:
        if self._database is None:
            return
        try:
            prune(self._database, time.time(), self._days)
        except self._database.unavailable as error:
            self._lose(self._database, error)
        except Exception:
            traceback.print_exc()  # a bug of ours costs old rows their end, and no new ones

    def _lose(self, database: Database, error: Exception) -> None:
        """After an error of the connection: the next group opens another one."""
        warn("store-lost", f"the store does not answer: {error}")
        with contextlib.suppress(Exception):
            database.close()
        self._database = None


def _answer(group: Sequence[_Waiting], error: Exception | None) -> None:
    """Wake who waits, all at once: in their own thread."""

    def wake() -> None:
        for one in group:
            if one.stored.done():  # cancelled: the sender has gone
                continue
            if error is None:
                one.stored.set_result(None)
            else:
                one.stored.set_exception(error)

    with contextlib.suppress(RuntimeError):  # the server has ended
        group[0].stored.get_loop().call_soon_threadsafe(wake)
