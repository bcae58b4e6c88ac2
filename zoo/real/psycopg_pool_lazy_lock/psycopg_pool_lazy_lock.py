# SPDX-License-Identifier: Apache-2.0
"""Two request threads open the application's connection pool on first use."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from psycopg_pool import ConnectionPool


def first_use(pool):
    """What a web handler does before its first query."""
    pool.open()
    return pool.closed


def main():
    before = threading.active_count()
    pool = ConnectionPool("dbname=nowhere", min_size=0, max_size=4, num_workers=2, open=False)
    failures = []
    with ThreadPoolExecutor(max_workers=2, thread_name_prefix="handler") as handlers:
        for job in [handlers.submit(first_use, pool) for _ in range(2)]:
            try:
                if job.result(timeout=10):
                    failures.append("the pool is not open")
            except AssertionError as error:
                failures.append("open() failed: %r" % error)
        running = threading.active_count() - before - len(handlers._threads)
    if running > 3:
        failures.append("%d helper threads instead of 3" % running)
    pool.close(timeout=1)
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
