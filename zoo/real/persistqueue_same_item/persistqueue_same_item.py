# SPDX-License-Identifier: Apache-2.0
"""Two workers share the jobs of a queue that is kept in a database."""

import sys
import tempfile
import threading

from persistqueue import Empty, SQLiteQueue

JOBS = ["resize a.png", "resize b.png", "resize c.png"]


def work(queue, done):
    while True:
        try:
            job = queue.get(block=False)
        except Empty:
            return
        if job is None:  # how older releases say that there is nothing
            return
        done.append(job)


def main():
    with tempfile.TemporaryDirectory() as folder:
        queue = SQLiteQueue(folder, multithreading=True)
        for job in JOBS:
            queue.put(job)
        done = []
        workers = [threading.Thread(target=work, args=(queue, done)) for _ in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    if sorted(done) != JOBS:
        print("done:", sorted(done))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
