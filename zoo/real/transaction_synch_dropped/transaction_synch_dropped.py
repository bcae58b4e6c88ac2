# SPDX-License-Identifier: Apache-2.0
"""A program commits while a janitor lets go of the caches that nobody has asked for lately."""

import collections
import collections.abc
import sys
import threading
import time

collections.MutableMapping = collections.abc.MutableMapping  # this release is older than Python 3.10

from transaction import TransactionManager  # noqa: E402


class Cache:
    """Forgets what it knows when a transaction begins."""

    def __init__(self, name):
        self.name = name
        self.entries = {}

    def newTransaction(self, transaction):
        self.entries.clear()

    def beforeCompletion(self, transaction):
        pass

    def afterCompletion(self, transaction):
        self.entries.clear()


def drop_idle(caches, done):
    while caches and not done.is_set():
        time.sleep(0.005)
        caches.pop()


def main():
    manager = TransactionManager()
    caches = [Cache(f"cache {number}") for number in range(10)]
    for cache in caches:
        manager.registerSynch(cache)
    del cache

    done = threading.Event()
    janitor = threading.Thread(target=drop_idle, args=(caches, done), daemon=True)
    janitor.start()
    try:
        for _ in range(5):
            manager.begin()
            time.sleep(0.002)
            manager.commit()
    finally:
        done.set()
        janitor.join(timeout=5)
    return 0


if __name__ == "__main__":
    sys.exit(main())
