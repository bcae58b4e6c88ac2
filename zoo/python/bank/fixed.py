# SPDX-License-Identifier: Apache-2.0
"""Book the day's deposits: each teller works through a list, all into one account."""

import threading


class Account:
    def __init__(self, balance):
        self.lock = threading.Lock()
        self.balance = balance

    def deposit(self, amount):
        with self.lock:
            self.balance += amount


def teller(account, amounts):
    for amount in amounts:
        account.deposit(amount)


def main():
    account = Account(100)
    books = [[10, 20], [5, 15]]
    tellers = [threading.Thread(target=teller, args=(account, amounts)) for amounts in books]
    for thread in tellers:
        thread.start()
    for thread in tellers:
        thread.join()
    assert account.balance == 150, "the books do not balance"


if __name__ == "__main__":
    main()
