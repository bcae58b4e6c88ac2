# SPDX-License-Identifier: Apache-2.0
"""Tests of the metrics of a web service; there is one registry for the whole process."""

import threading
from concurrent.futures import ThreadPoolExecutor

_registry = None
_registry_lock = threading.Lock()


class Registry:
    """Counts events by name."""

    def __init__(self, names):
        self.lock = threading.Lock()
        self.counters = dict.fromkeys(names, 0)

    def count(self, name):
        with self.lock:
            self.counters[name] += 1

    def total(self):
        with self.lock:
            return sum(self.counters.values())


def get_registry():
    global _registry
    with _registry_lock:
        if _registry is None:
            _registry = Registry(["login", "logout"])
        return _registry


def handle(request):
    get_registry().count(request)
    return f"{request}: ok"


def test_every_request_is_counted():
    requests = ["login", "logout", "login"]
    with ThreadPoolExecutor(max_workers=3) as pool:
        answers = list(pool.map(handle, requests))
    assert answers == ["login: ok", "logout: ok", "login: ok"]
    assert get_registry().total() == len(requests)
