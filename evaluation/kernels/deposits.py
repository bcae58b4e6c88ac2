# SPDX-License-Identifier: Apache-2.0
"""Tellers pay into a few accounts; so many of them as the command says."""

import sys
import threading


class Account:
    """Its balance is read and written in two steps."""

    def __init__(self) -> None:
        self.balance = 0

    def deposit(self, amount: int) -> None:
        """Add an amount."""
        before = self.balance
        self.balance = total(before, amount)


def total(before: int, amount: int) -> int:
    """The new balance."""
    return before + amount


def teller(accounts: list[Account]) -> None:
    """One deposit into every account."""
    for account in accounts:
        account.deposit(1)


def main(threads: int) -> None:
    """Let all tellers work at once."""
    accounts = [Account(), Account()]
    tellers = [threading.Thread(target=teller, args=(accounts,)) for _ in range(threads)]
    for one in tellers:
        one.start()
    for one in tellers:
        one.join()


if __name__ == "__main__":
    main(int(sys.argv[1]))
