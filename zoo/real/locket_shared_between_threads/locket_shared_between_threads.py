# SPDX-License-Identifier: Apache-2.0
"""Two workers of a program count their visits in a file, which a lock on a second file protects."""

import os
import sys
import tempfile
import threading

import locket


def visit(lock, path, errors):
    try:
        with lock:
            with open(path) as counter:
                count = int(counter.read())
            with open(path, "w") as counter:
                counter.write(str(count + 1))
    except Exception as error:
        errors.append(error)


def main():
    errors = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "visits")
        with open(path, "w") as counter:
            counter.write("0")
        lock = locket.lock_file(path + ".lock")
        workers = [threading.Thread(target=visit, args=(lock, path, errors)) for _ in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(timeout=10)
        with open(path) as counter:
            count = counter.read()
    if errors or count != "2":
        print("%s visits counted, %r" % (count, errors))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
