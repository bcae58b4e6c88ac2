# SPDX-License-Identifier: Apache-2.0
"""@db.atomic() on a function that is called by two threads, at the top and inside a transaction."""

import os
import tempfile
import threading
import unittest

from peewee import IntegerField, Model, SqliteDatabase


class AtomicDecoratorTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.db = db = SqliteDatabase(os.path.join(folder.name, "bank.db"))

        class Account(Model):
            balance = IntegerField(default=0)

            class Meta:
                database = db

        db.connect()
        db.create_tables([Account])
        self.errors = []

        @db.atomic()
        def total():
            return Account.select().count()

        self.total = total

    def tearDown(self):
        self.db.close()

    def guarded(self, body):
        try:
            with self.db.connection_context():
                body()
        except Exception as error:
            self.errors.append(error)

    def alone(self):
        for _ in range(3):
            self.total()

    def nested(self):
        with self.db.transaction():
            for _ in range(3):
                self.total()

    def test_called_at_both_depths(self):
        threads = [threading.Thread(target=self.guarded, args=(body,)) for body in (self.alone, self.nested)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=10)
        self.assertEqual(self.errors, [])


if __name__ == "__main__":
    unittest.main()
