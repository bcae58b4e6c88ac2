# SPDX-License-Identifier: Apache-2.0
"""Tests of a list whose methods may be called from several threads."""

import threading
from concurrent.futures import ThreadPoolExecutor


class ArrayList:
    def __init__(self, items=()):
        self.lock = threading.RLock()
        self.items = list(items)
        self.changes = 0

    def add(self, item):
        with self.lock:
            self.items.append(item)
            self.changes += 1

    def remove(self, item):
        with self.lock:
            self.items.remove(item)
            self.changes += 1

    def contains(self, item):
        with self.lock:
            return item in self.items

    def contains_all(self, other):
        with self.lock, other.lock:
            for item in other.items:
                if not self.contains(item):
                    return False
            return True


def test_contains_all_while_the_other_list_shrinks():
    stock = ArrayList(["tea", "salt", "rice"])
    wishes = ArrayList(["tea", "caviar", "rice"])
    with ThreadPoolExecutor(max_workers=3) as pool:
        available = pool.submit(stock.contains_all, wishes)
        withdrawn = pool.submit(wishes.remove, "tea")
        stocked = pool.submit(stock.add, "flour")
    withdrawn.result()
    stocked.result()
    assert stock.changes == wishes.changes == 1
    assert available.result() is False
