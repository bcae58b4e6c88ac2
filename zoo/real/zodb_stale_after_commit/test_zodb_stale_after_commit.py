# SPDX-License-Identifier: Apache-2.0
"""A reader begins its transaction while a writer commits."""

import threading

import pytest
import transaction
from ZODB import DB
from ZODB.MappingStorage import MappingStorage


@pytest.fixture
def db():
    db = DB(MappingStorage())
    with db.transaction() as connection:
        connection.root.balance = 100
    yield db
    db.close()


def test_reader_sees_the_commit_in_its_next_transaction(db):
    seen = []
    read_once, written = threading.Event(), threading.Event()

    def read():
        manager = transaction.TransactionManager()
        connection = db.open(manager)
        assert connection.root.balance == 100  # now it is in the cache of the connection
        read_once.set()
        manager.begin()
        assert connection.root.balance in (100, 200)
        written.wait(timeout=5)
        manager.begin()
        seen.append(connection.root.balance)
        manager.abort()
        connection.close()

    def write():
        read_once.wait(timeout=5)
        with db.transaction() as connection:
            connection.root.balance = 200
        written.set()

    threads = [threading.Thread(target=job) for job in (read, write)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)

    assert seen == [200]
