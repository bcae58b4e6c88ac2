# SPDX-License-Identifier: Apache-2.0
"""A pool lets go of its threads when there is no work, but keeps as many as it was told to."""

import time

import pytest
from ThreadPoolExecutorPlus import ThreadPoolExecutor


@pytest.fixture
def pool():
    pool = ThreadPoolExecutor(max_workers=3)
    pool.set_daemon_opts(min_workers=1, keep_alive_time=0.03)
    yield pool
    pool.shutdown(wait=False)


def threads(pool):
    return [thread for thread in list(pool._threads) if thread.is_alive()]


def test_one_thread_is_kept(pool):
    reports = [pool.submit(time.sleep, seconds) for seconds in (0.01, 0.02)]
    for report in reports:
        report.result(timeout=5)
    time.sleep(0.2)
    assert len(threads(pool)) == 1
    assert pool.submit(sum, [1, 2]).result(timeout=5) == 3
