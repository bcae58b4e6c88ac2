# SPDX-License-Identifier: Apache-2.0
"""Settle a day's payments in a small bank: one clerk per account, all at work at once."""

import threading


class Account:
    def __init__(self, owner, amount):
        self.owner = owner
        self.amount = amount
        self.lock = threading.Lock()

    def book(self, amount):
        self.amount = round(self.amount + amount, 2)

    def deposit(self, amount):
        with self.lock:
            self.book(amount)

    def withdraw(self, amount):
        with self.lock:
            self.book(-amount)

    def transfer(self, other, amount):
        with self.lock:
            self.book(-amount)
            other.book(amount)


class Journal:
    def __init__(self):
        self.lock = threading.Lock()
        self.lines = []

    def note(self, line):
        with self.lock:
            self.lines.append(line)


class Clerk(threading.Thread):
    def __init__(self, account, partner, journal):
        super().__init__(name=account.owner)
        self.account = account
        self.partner = partner
        self.journal = journal

    def run(self):
        self.account.deposit(300)
        self.account.withdraw(100.5)
        self.account.transfer(self.partner, 99.25)
        self.journal.note(f"{self.account.owner} paid {self.partner.owner}")


def main():
    accounts = [Account(owner, 100) for owner in ("ada", "bob", "cleo")]
    journal = Journal()
    partners = accounts[1:] + accounts[:1]
    clerks = [Clerk(*pair, journal) for pair in zip(accounts, partners, strict=True)]
    for clerk in clerks:
        clerk.start()
    for clerk in clerks:
        clerk.join()
    assert len(journal.lines) == 3
    total = sum(account.amount for account in accounts)
    assert total == 898.5, "the day does not add up"


if __name__ == "__main__":
    main()
