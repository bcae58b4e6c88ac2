# SPDX-License-Identifier: Apache-2.0
"""The till of a shop: what was paid, in cash and by card."""


def cents(amount):
    return round(amount * 100)


class Till:
    def __init__(self):
        self.cash = 0
        self.cards = 0

    def pay_cash(self, amount):
        self.cash = self.cash + cents(amount)

    def pay_by_card(self, amount):
        self.cards = self.cards + cents(amount)

    def total(self):
        return self.cash + self.cards
