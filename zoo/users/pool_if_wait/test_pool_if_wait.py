# SPDX-License-Identifier: Apache-2.0
import threading

from pool import ConnectionPool


def test_more_threads_than_connections():
    pool = ConnectionPool(size=1)
    answers, errors = [], []

    def client(name):
        try:
            with pool.connection() as connection:
                answers.append(connection.execute(f"select {name}"))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=client, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)
    assert errors == []
    assert len(answers) == 3
