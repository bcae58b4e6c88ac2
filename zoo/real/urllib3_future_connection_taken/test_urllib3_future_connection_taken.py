# SPDX-License-Identifier: Apache-2.0
"""Two threads ask a pool for the connection that has an answer for them."""

import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from urllib3.util.traffic_police import TrafficPolice

ANSWER = bytes(4_000_000)


class Promise:
    pass


class Connection:
    is_idle = False

    def read(self):
        return hashlib.sha256(ANSWER).hexdigest()

    def close(self):
        pass


@pytest.fixture
def pool():
    return TrafficPolice(maxsize=1)


def test_threads_read_one_after_another(pool):
    promises = [Promise(), Promise()]
    pool.put(Connection(), *promises)
    ready = threading.Barrier(len(promises))

    def answer(_):
        ready.wait(timeout=5)
        with pool.borrow(Promise) as connection:
            return connection.read()

    with ThreadPoolExecutor(len(promises)) as threads:
        answers = list(threads.map(answer, promises))

    assert answers[0] == answers[1]
    assert pool.qsize() == 1
