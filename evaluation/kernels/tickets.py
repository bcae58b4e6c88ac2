# SPDX-License-Identifier: Apache-2.0
"""Counters sell the seats of a flight and stop when it is sold out."""

import sys
import threading


class Flight:
    """A flight with a number of seats."""

    def __init__(self, seats: int) -> None:
        self.seats = seats
        self.sold = 0
        self.open = True

    def sell(self) -> bool:
        """Sell one seat, if the flight is open."""
        if not self.open:
            return False
        self.sold = after(self.sold)
        if self.sold >= self.seats:
            self.open = False
        return True


def after(sold: int) -> int:
    """The number of seats sold after one more."""
    return sold + 1


def counter(flight: Flight) -> None:
    """Sell until the flight is closed, three seats at most."""
    for _ in range(3):
        if not flight.sell():
            break


def main(threads: int) -> None:
    """Let all counters work at once."""
    flight = Flight(2 * threads)
    counters = [threading.Thread(target=counter, args=(flight,)) for _ in range(threads)]
    for one in counters:
        one.start()
    for one in counters:
        one.join()


if __name__ == "__main__":
    main(int(sys.argv[1]))
