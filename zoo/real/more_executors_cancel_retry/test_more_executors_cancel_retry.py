# SPDX-License-Identifier: Apache-2.0
"""Giving up on a job that fails and would be tried again."""

import itertools
import threading

import pytest
from more_executors import Executors


@pytest.fixture
def executor():
    executor = Executors.thread_pool(max_workers=1).with_retry(max_attempts=8, sleep=0.001, max_sleep=0.001)
    yield executor
    executor.shutdown(wait=False)


def test_no_retries_after_cancel(executor):
    attempts = itertools.count()
    latest = []
    started = threading.Event()

    def unreachable_server():
        latest.append(next(attempts))
        started.set()
        raise ConnectionError("nobody there")

    future = executor.submit(unreachable_server)
    assert started.wait(5)
    cancelled = future.cancel()
    tried = len(latest)
    if not cancelled:
        with pytest.raises(ConnectionError):
            future.result(timeout=5)

    # One attempt may have been on its way to the pool; a second one may not follow.
    assert len(latest) <= tried + 1
