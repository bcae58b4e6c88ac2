# SPDX-License-Identifier: Apache-2.0
"""Keep a table and a binary log of its changes; the log goes on to a new file on request."""

import io
import threading

CLOSED, BINARY = "closed", "binary"


class BinaryLog:
    def __init__(self):
        self.lock = threading.Lock()
        self.files = []
        self.kind = CLOSED
        self.open()

    def open(self):
        self.files.append(io.StringIO())
        self.kind = BINARY

    def close(self):
        self.kind = CLOSED
        self.files[-1].write("-- continued\n")

    def rotate(self):
        with self.lock:
            self.close()
            self.open()

    def write(self, statement):
        with self.lock:
            if self.kind == CLOSED:
                return
            self.files[-1].write(statement + "\n")


class Table:
    def __init__(self, log):
        self.lock = threading.Lock()
        self.rows = []
        self.log = log

    def insert(self, row):
        with self.lock:
            self.rows.append(row)
        self.log.write(f"INSERT INTO users VALUES ({row!r})")


def client(table, rows):
    for row in rows:
        table.insert(row)


def main():
    log = BinaryLog()
    table = Table(log)
    batches = [["ada", "grace"], ["edsger"]]
    threads = [threading.Thread(target=client, args=(table, rows)) for rows in batches]
    threads.append(threading.Thread(target=log.rotate))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    logged = sum(file.getvalue().count("INSERT") for file in log.files)
    assert logged == len(table.rows), "changes are missing from the binary log"


if __name__ == "__main__":
    main()
