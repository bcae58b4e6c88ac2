# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.forks COUNT`: bare forks per second, from a process that is small.

As many at once as there are cores; each starts and joins three threads. What a hunt's runs cost
beyond that is the hunt's.
"""

from __future__ import annotations

import os
import sys
import threading
import time


def main(count: int) -> None:
    start = time.perf_counter()
    flying = 0
    for _ in range(count):
        if flying == os.cpu_count():
            os.wait()
            flying -= 1
        if os.fork() == 0:
            _three_threads()
            os._exit(0)
        flying += 1
    while flying:
        os.wait()
        flying -= 1
    print(count / (time.perf_counter() - start))


def _three_threads() -> None:
    threads = [threading.Thread(target=int) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(int(sys.argv[1]))
