# SPDX-License-Identifier: Apache-2.0
"""A linter checks two statements in a pool with one dialect; exit 1 if a statement comes out changed."""

import sys
from concurrent.futures import ThreadPoolExecutor

import sqlglot
from sqlglot.dialects.dialect import Dialect

STATEMENTS = [
    "SELECT name, price FROM goods WHERE price > 10 ORDER BY price",
    "DELETE FROM basket WHERE owner = 'nobody'",
]


def normalised(dialect, statement):
    return sqlglot.parse_one(statement, read=dialect).sql(dialect="mysql")


def main():
    dialect = Dialect.get_or_raise("mysql")
    with ThreadPoolExecutor(max_workers=2) as pool:
        jobs = [pool.submit(normalised, dialect, statement) for statement in STATEMENTS]
    wrong = 0
    for statement, job in zip(STATEMENTS, jobs):
        error = job.exception(timeout=10)
        if error:
            print("%s: %r" % (statement, error))
            wrong += 1
        elif job.result() != statement:
            print("%s: %s" % (statement, job.result()))
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
