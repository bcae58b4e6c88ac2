# SPDX-License-Identifier: Apache-2.0
"""One thread books an order, another one counts the orders, over a single shared connection; exit 1 if one breaks."""

import os
import sqlite3
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from dbutils.pooled_db import PooledDB


def book(pool, customer):
    connection = pool.connection()
    try:
        connection.begin()
        cursor = connection.cursor()
        cursor.execute("insert into orders (customer) values (?)", (customer,))
        cursor.close()
        connection.commit()
    finally:
        connection.close()


def count(pool):
    connection = pool.connection()
    try:
        cursor = connection.cursor()
        cursor.execute("select count(*) from orders")
        return cursor.fetchone()[0]
    finally:
        connection.close()


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "shop.db")
        setup = sqlite3.connect(path)
        setup.execute("create table orders (customer text)")
        setup.close()
        pool = PooledDB(sqlite3, maxshared=1, maxconnections=1, blocking=True,
                        database=path, check_same_thread=False)
        with ThreadPoolExecutor(max_workers=2) as executor:
            jobs = [executor.submit(book, pool, "ann"), executor.submit(count, pool)]
        errors = [job.exception(timeout=10) for job in jobs if job.exception(timeout=10)]
        pool.close()
    for error in errors:
        print("failed: %r" % error, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
