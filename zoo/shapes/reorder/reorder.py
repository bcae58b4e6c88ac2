# SPDX-License-Identifier: Apache-2.0
"""Many writers set `started`, then `finished`; a reader between the first two writes fails."""

import contextlib
import sys
import threading


class State:
    started = finished = False


def setter(state, lock):
    with lock:
        state.started = True
        state.finished = True


def checker(state, lock, found):
    with lock:
        if state.started:
            found.append(state.finished)


def main():
    state, found = State(), []
    lock = threading.Lock() if "locked" in sys.argv else contextlib.nullcontext()
    count = int(sys.argv[1])
    threads = [threading.Thread(target=setter, args=(state, lock)) for _ in range(count)]
    threads.append(threading.Thread(target=checker, args=(state, lock, found)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found)


main()
