# SPDX-License-Identifier: Apache-2.0
"""The `with lock: v += 1` loop."""

import threading

from teams import in_threads

lock = threading.Lock()
v = 0


def increment(size):
    global v
    for _ in range(size):
        with lock:
            v += 1


def run(size, threads=2):
    global v
    v = 0
    in_threads(threads, lambda place: increment(size))
    return v
