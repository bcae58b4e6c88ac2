# SPDX-License-Identifier: Apache-2.0
"""A logger appends to a file in memory while a second thread starts the file anew."""

import os
import sys
import threading

from fs.memoryfs import MemoryFS


def append_lines(log):
    for number in range(20):
        log.write(b"line %d\n" % number)


def start_anew(memory):
    for _ in range(10):
        memory.openbin("/app.log", "w").close()


def main():
    memory = MemoryFS()
    log = memory.openbin("/app.log", "a")
    threads = [
        threading.Thread(target=append_lines, args=(log,), daemon=True),
        threading.Thread(target=start_anew, args=(memory,), daemon=True),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=2)
    if any(thread.is_alive() for thread in threads):
        print("stuck")
        return 1
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)
