# SPDX-License-Identifier: Apache-2.0
"""A write fails in the thread of the database, and the next one who uses the table is told; two readers are next."""

import logging
import os
import sqlite3
import sys
import tempfile
import threading

from sqlitedict import SqliteDict


def read(table, key, results):
    try:
        results.append(table[key])
    except Exception as error:
        results.append(error)


def main():
    logging.disable(logging.CRITICAL)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        table = SqliteDict(os.path.join(folder, "stock.sqlite"), outer_stack=False)
        table["bolts"] = 7
        table[("nuts", "m4")] = 3  # sqlite cannot take such a key, which shows up later
        readers = [threading.Thread(target=read, args=(table, "bolts", results)) for _ in range(2)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(timeout=10)
        table.close()
    wrong = [result for result in results if result != 7 and not isinstance(result, sqlite3.Error)]
    if wrong or len(results) != 2:
        print("the readers got", results)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
