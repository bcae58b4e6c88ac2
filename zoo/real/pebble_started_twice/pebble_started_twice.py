# SPDX-License-Identifier: Apache-2.0
"""Two producers schedule their first task on a common pool; exit 1 if one of them fails or a task is lost."""

import sys
import threading

from pebble import ThreadPool


def main():
    pool = ThreadPool(max_workers=2)
    ready = threading.Barrier(2)
    done, errors = [], []

    def producer(name):
        ready.wait(5)
        try:
            done.append(pool.schedule(str.upper, args=(name,)).result(timeout=5))
        except Exception as error:
            errors.append(error)

    producers = [threading.Thread(target=producer, args=(name,), daemon=True) for name in ("ann", "bob")]
    for thread in producers:
        thread.start()
    for thread in producers:
        thread.join(10)
    workers = len(pool._pool_manager.workers)
    pool.stop()
    pool.join()
    if errors or sorted(done) != ["ANN", "BOB"]:
        print("errors %r, done %r" % (errors, done))
        return 1
    if workers > 2:
        print("%d workers in a pool of 2" % workers)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
