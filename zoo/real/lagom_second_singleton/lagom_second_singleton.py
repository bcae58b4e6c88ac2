# SPDX-License-Identifier: Apache-2.0
"""Three jobs of a pool ask a container for the ledger, which it makes from its other parts."""

import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from lagom import Container, Singleton


class Clock:
    def now(self):
        return 7


class Journal:
    def __init__(self, clock: Clock):
        self.opened = clock.now()


class Ledger:
    def __init__(self, journal: Journal, clock: Clock):
        self.journal = journal
        self.clock = clock
        self.bookings = []


def make_container():
    container = Container()
    container[Ledger] = Singleton(Ledger)
    return container


def main():
    container = make_container()
    ready = Barrier(3)

    def book(amount):
        ready.wait()
        container[Ledger].bookings.append(amount)

    with ThreadPoolExecutor(max_workers=3) as pool:
        list(pool.map(book, (10, 20, 30)))
    bookings = sorted(container[Ledger].bookings)
    if bookings != [10, 20, 30]:
        print("booked:", bookings)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
