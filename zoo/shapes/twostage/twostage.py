# SPDX-License-Identifier: Apache-2.0
"""Two values that belong together, each with its lock: a reader between the two stages fails."""

import contextlib
import sys
import threading


class State:
    first = second = 0


def write_both(state, first_lock, second_lock, both):
    with both:
        with first_lock:
            state.first = 1
        with second_lock:
            state.second = state.first + 1


def read_both(state, first_lock, second_lock, both, found):
    with both:
        with first_lock:
            first = state.first
        if first:
            with second_lock:
                second = state.second
            found.append(second == first + 1)


def main():
    found = []
    both = threading.Lock() if "locked" in sys.argv else contextlib.nullcontext()
    shared = (State(), threading.Lock(), threading.Lock(), both)
    count = int(sys.argv[1])
    threads = [threading.Thread(target=write_both, args=shared) for _ in range(count)]
    threads.append(threading.Thread(target=read_both, args=(*shared, found)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found)


main()
