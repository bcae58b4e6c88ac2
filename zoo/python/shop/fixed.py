# SPDX-License-Identifier: Apache-2.0
"""Run a corner shop: a supplier fills the shelf, and customers wait for an item and pay for it."""

import threading

PRICES = {"milk": 3, "bread": 4}


class Shop:
    def __init__(self):
        self.delivery = threading.Condition()
        self.shelf = []
        self.till_lock = threading.Lock()
        self.till = 0

    def supply(self, item):
        with self.delivery:
            self.shelf.append(item)
            self.delivery.notify_all()

    def take(self):
        with self.delivery:
            while not self.shelf:
                self.delivery.wait()
            return self.shelf.pop()

    def pay(self, amount):
        with self.till_lock:
            self.till += amount


class Supplier(threading.Thread):
    def __init__(self, shop, items):
        super().__init__()
        self.shop = shop
        self.items = items

    def run(self):
        for item in self.items:
            self.shop.supply(item)


class Customer(threading.Thread):
    def __init__(self, shop):
        super().__init__()
        self.shop = shop

    def run(self):
        item = self.shop.take()
        self.shop.pay(PRICES[item])


def main():
    shop = Shop()
    people = [Customer(shop), Customer(shop), Supplier(shop, list(PRICES))]
    for person in people:
        person.start()
    for person in people:
        person.join()
    print("in the till:", shop.till)


if __name__ == "__main__":
    main()
