# SPDX-License-Identifier: Apache-2.0
"""Two threads make the first blocking call of a library that is async inside; exit 1 if one fails."""

import atexit
import sys
import threading

from synchronicity import Interface, Synchronizer


def main():
    before = set(threading.enumerate())
    synchronizer = Synchronizer()
    atexit.unregister(synchronizer._close_loop)  # it would wait for a second loop for ever

    async def double_async(number):
        return 2 * number

    double = synchronizer.create(double_async)[Interface.BLOCKING]
    results, errors = [], []

    def caller(number):
        try:
            results.append(double(number))
        except Exception as error:
            errors.append(error)

    callers = [threading.Thread(target=caller, args=(number,), daemon=True) for number in (3, 4)]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join(5)
    loops = set(threading.enumerate()) - before - set(callers)
    if errors or sorted(results) != [6, 8] or len(loops) > 1:
        print("results %r, errors %r, %d loops" % (results, errors, len(loops)))
        return 1
    synchronizer._close_loop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
