# SPDX-License-Identifier: Apache-2.0
"""Two clerks change accounts under a reader-writer lock and read the balance while they do; exit 1 if they hang."""

import sys
import threading

from fasteners import ReaderWriterLock


class Accounts:
    def __init__(self):
        self.lock = ReaderWriterLock()
        self.total = 0

    def balance(self):
        with self.lock.read_lock():
            return self.total

    def pay_in(self, amount):
        with self.lock.write_lock():
            self.total = self.balance() + amount  # a writer may read


def main():
    accounts = Accounts()
    clerks = [threading.Thread(target=accounts.pay_in, args=(amount,), daemon=True) for amount in (5, 7)]
    for clerk in clerks:
        clerk.start()
    for clerk in clerks:
        clerk.join(timeout=2)
    waiting = [clerk.name for clerk in clerks if clerk.is_alive()]
    if waiting:
        print("still waiting: %s" % ", ".join(waiting))
        return 1
    if accounts.total != 12:
        print("total %d" % accounts.total)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
