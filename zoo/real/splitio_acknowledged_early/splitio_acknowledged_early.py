# SPDX-License-Identifier: Apache-2.0
"""The segments of a client are fetched by a pool of workers; the client is ready when all are there."""

import sys

from splitio.tasks.util.workerpool import WorkerPool

SEGMENTS = ("beta", "employees", "eu", "mobile")


def fetch(name):
    return {"name": name, "keys": sorted(f"{name}-{number}" for number in range(3))}


def main():
    storage = {}

    def update(name):
        storage[name] = fetch(name)

    pool = WorkerPool(2, update)
    pool.start()
    for name in SEGMENTS:
        pool.submit_work(name)
    pool.wait_for_completion()
    missing = [name for name in SEGMENTS if name not in storage]
    pool.stop()
    if missing:
        print("ready without", ", ".join(missing))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
