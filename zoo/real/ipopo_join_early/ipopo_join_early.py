# SPDX-License-Identifier: Apache-2.0
"""Hand a batch of work to a thread pool, join it, and use the results."""

import sys

from pelix.threadpool import ThreadPool


def main():
    squares = {}

    def square(number):
        squares[number] = number * number

    pool = ThreadPool(2, logname="squares")
    pool.start()
    try:
        for number in range(4):
            pool.enqueue(square, number)
        pool.join()
        missing = [number for number in range(4) if number not in squares]
    finally:
        pool.stop()
    if missing:
        print("joined, but these are not there yet:", missing)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
