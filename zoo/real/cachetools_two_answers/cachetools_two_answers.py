# SPDX-License-Identifier: Apache-2.0
"""Handlers of a service ask for the session of a customer; all of them must get the same one."""

import queue
import sys
import threading

from cachetools import LRUCache, cached


class Session:
    def __init__(self, customer):
        self.customer = customer
        self.basket = []


def main():
    @cached(LRUCache(maxsize=16), lock=threading.RLock())
    def session_of(customer):
        return Session(customer)

    orders, seen = queue.Queue(), queue.Queue()

    def handler():
        while True:
            customer = orders.get()
            if customer is None:
                return
            seen.put(session_of(customer))

    handlers = [threading.Thread(target=handler, daemon=True) for _ in range(3)]
    for thread in handlers:
        thread.start()
    for customer in ["ann"] * 3 + [None] * 3:
        orders.put(customer)
    for thread in handlers:
        thread.join(10)

    sessions = {id(session): session for session in list(seen.queue)}
    if len(sessions) > 1:
        print("%d sessions for one customer" % len(sessions))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
