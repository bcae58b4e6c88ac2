# SPDX-License-Identifier: Apache-2.0
"""Sell the seats of one flight at several counters until the flight is full."""

import threading
from concurrent.futures import ThreadPoolExecutor

CAPACITY = 3


class Flight:
    def __init__(self, capacity):
        self.capacity = capacity
        self.sold = 0
        self.sales_stopped = False
        self.manifest = {}
        self.lock = threading.RLock()

    def is_on_sale(self):
        with self.lock:
            return not self.sales_stopped

    def sell(self, passenger):
        with self.lock:
            self.sold += 1
            self.manifest[passenger] = f"seat {self.sold}"
            if self.sold >= self.capacity:
                self.sales_stopped = True


def counter(flight, passengers):
    """Serve a queue of passengers; return those who have to take another flight."""
    for place, passenger in enumerate(passengers):
        with flight.lock:
            if not flight.is_on_sale():
                return passengers[place:]
            flight.sell(passenger)
    return []


def main():
    flight = Flight(CAPACITY)
    queues = [["ines", "jon"], ["kim", "lea"]]
    with ThreadPoolExecutor(max_workers=len(queues)) as pool:
        counters = [pool.submit(counter, flight, queue) for queue in queues]
    sent_away = [passenger for done in counters for passenger in done.result()]
    print("sent away:", *sent_away)
    assert len(flight.manifest) <= CAPACITY, "the flight is overbooked"


if __name__ == "__main__":
    main()
