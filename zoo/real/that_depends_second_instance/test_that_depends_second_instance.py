# SPDX-License-Identifier: Apache-2.0
"""A singleton of a container is made once, however many threads ask for it first."""

import threading

import pytest
from that_depends import BaseContainer, providers


class Ledger:
    opened = 0

    def __init__(self, path):
        type(self).opened += 1
        self.path = path
        self.entries = []


class Container(BaseContainer):
    ledger = providers.Singleton(Ledger, path="ledger.txt")


@pytest.fixture
def ledgers():
    Ledger.opened = 0
    start = threading.Barrier(3)
    found = []

    def book(amount):
        start.wait(timeout=5)
        ledger = Container.ledger.sync_resolve()
        ledger.entries.append(amount)
        found.append(ledger)

    clerks = [threading.Thread(target=book, args=(amount,), daemon=True) for amount in (10, 20, 30)]
    for clerk in clerks:
        clerk.start()
    for clerk in clerks:
        clerk.join(timeout=5)
    return found


def test_everyone_has_the_same_ledger(ledgers):
    assert len(ledgers) == 3
    assert Ledger.opened == 1
    assert sorted(Container.ledger.sync_resolve().entries) == [10, 20, 30]
