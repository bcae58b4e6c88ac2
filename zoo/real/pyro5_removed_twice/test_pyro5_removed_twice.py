# SPDX-License-Identifier: Apache-2.0
"""A service takes its name back when it stops; a watcher takes away the names of services that do not answer."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from Pyro5.nameserver import NameServer

NAME = "shop.stock"


@pytest.fixture
def names():
    names = NameServer()
    names.register(NAME, "PYRO:obj_stock@localhost:9999")
    return names


def test_name_is_removed_by_one_of_two(names):
    both = threading.Barrier(2)

    def remove():
        both.wait(timeout=5)
        return names.remove(NAME)

    with ThreadPoolExecutor(2) as pool:
        removals = [pool.submit(remove) for _ in range(2)]
        removed = [removal.result(timeout=5) for removal in removals]

    assert sorted(removed) == [0, 1]
    assert names.count() == 0
