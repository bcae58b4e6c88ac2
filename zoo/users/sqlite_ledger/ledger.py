# SPDX-License-Identifier: Apache-2.0
"""Accounts in an SQLite file."""

import sqlite3

CREATE = "CREATE TABLE IF NOT EXISTS accounts (owner TEXT PRIMARY KEY, balance INTEGER NOT NULL)"
INSERT = "INSERT INTO accounts (owner, balance) VALUES (?, ?)"
SELECT = "SELECT balance FROM accounts WHERE owner = ?"
UPDATE = "UPDATE accounts SET balance = ? WHERE owner = ?"


class Overdrawn(Exception):
    pass


class Ledger:
    def __init__(self, path):
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._db.execute(CREATE)

    def open(self, owner, balance=0):
        self._db.execute(INSERT, (owner, balance))

    def balance(self, owner):
        row = self._db.execute(SELECT, (owner,)).fetchone()
        if row is None:
            raise KeyError(owner)
        return row[0]

    def withdraw(self, owner, amount):
        balance = self.balance(owner)
        if balance < amount:
            raise Overdrawn(owner)
        self._db.execute(UPDATE, (balance - amount, owner))

    def close(self):
        self._db.close()
