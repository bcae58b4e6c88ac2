# SPDX-License-Identifier: Apache-2.0
"""The till of a shop: what was paid, in cash and by card."""

import threading


def cents(amount):
    return round(amount * 100)


class Till:
    def __init__(self):
        self.lock = threading.Lock()
        self.cash = 0
        self.cards = 0

    def pay_cash(self, amount):
        with self.lock:
            self.cash = self.cash + cents(amount)

    def pay_by_card(self, amount):
        with self.lock:
            self.cards = self.cards + cents(amount)

    def total(self):
        return self.cash + self.cards
