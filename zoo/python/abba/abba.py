# SPDX-License-Identifier: Apache-2.0
"""Move money between two accounts, in both directions at once."""

import threading


class Account:
    def __init__(self, balance):
        self.lock = threading.Lock()
        self.balance = balance


def transfer(source, target, amount):
    with source.lock:
        with target.lock:
            source.balance -= amount
            target.balance += amount


def standing_order(source, target, amounts):
    for amount in amounts:
        transfer(source, target, amount)


def main():
    rent, savings = Account(100), Account(100)
    out = threading.Thread(target=standing_order, args=(rent, savings, [10, 20]))
    back = threading.Thread(target=standing_order, args=(savings, rent, [5, 5]))
    out.start()
    back.start()
    out.join()
    back.join()
    assert rent.balance + savings.balance == 200, "money has been lost"


if __name__ == "__main__":
    main()
