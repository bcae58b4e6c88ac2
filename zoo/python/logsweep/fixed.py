# SPDX-License-Identifier: Apache-2.0
"""Keep log lines in memory and sweep them to disk from a second thread."""

import io
import threading


class Journal:
    def __init__(self, disk):
        self.lock = threading.Lock()
        self.disk = disk
        self.lines = []

    def log(self, line):
        with self.lock:
            self.lines.append(line + "\n")

    def sweep(self):
        with self.lock:
            for line in self.lines:
                self.disk.write(line)
            self.disk.flush()
            self.lines.clear()


def serve(journal):
    for number in range(3):
        journal.log(f"request {number}")


def main():
    disk = io.StringIO()
    journal = Journal(disk)
    journal.log("start")
    server = threading.Thread(target=serve, args=(journal,))
    sweeper = threading.Thread(target=journal.sweep)
    server.start()
    sweeper.start()
    server.join()
    sweeper.join()
    journal.sweep()
    assert disk.getvalue().count("\n") == 4, "lines are missing from the log"


if __name__ == "__main__":
    main()
