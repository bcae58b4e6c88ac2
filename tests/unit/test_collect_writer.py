# SPDX-License-Identifier: Apache-2.0
"""The writer of the collector: groups, and what an error costs."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import closing

import pytest
from msgspec.structs import replace
from tests.integration.collected import batch

from unsnarl.collect import writer as writers
from unsnarl.collect.databases import open_database
from unsnarl.collect.schema import prepare
from unsnarl.collect.writer import StoreBusyError, Writer
from unsnarl.errors import ToolError


@pytest.fixture
def store(tmp_path):
    file = str(tmp_path / "store.sqlite")
    with closing(open_database(file)) as database:
        prepare(database)
    return file


@pytest.fixture
def groups(monkeypatch):
    """How many batches each transaction was asked to store; the first waits for `opened`."""
    seen, opened, add = [], threading.Event(), writers.add

    def held(database, batches, now):
        seen.append(len(batches))
        assert opened.wait(60)
        return add(database, batches, now)

    monkeypatch.setattr(writers, "add", held)
    return seen, opened


def stored(store):
    with closing(open_database(store)) as database:
        return {id for (id,) in database.rows("SELECT id FROM batches")}


def results(writer, batches, opened):
    """What becomes of batches that are sent at once, the first of them before the others."""

    async def send():
        tasks = [asyncio.create_task(writer.store(batches[0]))]
        await asyncio.sleep(0.05)  # else they may be one group, which is right, too
        tasks += [asyncio.create_task(writer.store(one)) for one in batches[1:]]
        await asyncio.sleep(0.05)
        opened.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    return asyncio.run(send())


def test_what_comes_during_a_transaction_is_the_next_one(store, groups):
    seen, opened = groups
    sent = [batch(at) for at in range(20)]
    with Writer(lambda: open_database(store), 90) as writer:
        assert results(writer, sent, opened) == [None] * 20
    assert len(seen) < 20 and sum(seen) == 20
    assert stored(store) == {one.id for one in sent}


def test_one_that_cannot_be_stored_costs_the_others_nothing(store, groups):
    _, opened = groups
    sent = [batch(at) for at in range(5)]
    sent[3] = replace(sent[3], instance=None)
    with Writer(lambda: open_database(store), 90) as writer:
        found = results(writer, sent, opened)
    assert isinstance(found[3], sqlite3.IntegrityError)
    assert found[:3] + found[4:] == [None] * 4
    assert stored(store) == {one.id for one in sent} - {sent[3].id}


def test_too_many_that_wait_are_refused_at_once(store, groups, monkeypatch):
    _, opened = groups
    monkeypatch.setattr(writers, "WAITING_MOST", 3)
    sent = [batch(at) for at in range(5)]
    with Writer(lambda: open_database(store), 90) as writer:
        found = results(writer, sent, opened)
        assert found[:3] == [None] * 3
        assert all(isinstance(one, StoreBusyError) for one in found[3:])
        assert asyncio.run(writer.store(batch(9))) is None  # there is room once more


def test_a_store_that_is_lost_is_opened_anew(store, monkeypatch, capsys):
    add, troubles = writers.add, [sqlite3.OperationalError("disk I/O error")]
    opened = []

    def failing(database, batches, now):
        if troubles:
            raise troubles.pop()
        return add(database, batches, now)

    def connect():
        opened.append(1)
        if len(opened) == 2:
            raise ToolError("store-unusable", "not yet")
        return open_database(store)

    monkeypatch.setattr(writers, "add", failing)
    sent = batch()
    with Writer(connect, 90) as writer:
        for _ in range(2):
            with pytest.raises(StoreBusyError):
                asyncio.run(writer.store(sent))
        asyncio.run(writer.store(sent))
    assert "[store-lost]" in capsys.readouterr().err
    assert len(opened) == 3 and stored(store) == {sent.id}


def test_what_waits_at_the_end_is_stored(store, groups):
    _, opened = groups

    async def leave():
        for _ in range(4):
            task = asyncio.create_task(writer.store(batch()))
            await asyncio.sleep(0.01)
            task.cancel()  # its sender has gone

    with Writer(lambda: open_database(store), 90) as writer:
        asyncio.run(leave())
        opened.set()
    assert len(stored(store)) == 4


def test_a_bug_in_the_removal_of_old_rows_does_not_end_the_writer(store, monkeypatch, capsys):
    def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(writers, "prune", broken)
    with Writer(lambda: open_database(store), 90) as writer:
        asyncio.run(writer.store(batch()))
        asyncio.run(writer.store(batch()))
    assert len(stored(store)) == 2
    assert "ZeroDivisionError" in capsys.readouterr().err
