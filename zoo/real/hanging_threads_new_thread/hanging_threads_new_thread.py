# SPDX-License-Identifier: Apache-2.0
"""A watchdog lists what the threads do while the program starts another one; exit 1 if the watchdog stumbles."""

import sys
import threading

import hanging_threads


def main():
    release = threading.Event()
    reports, errors = [], []

    def watch():
        try:
            reports.append(hanging_threads.get_current_frames())
        except KeyError as error:
            errors.append(error)

    watchdog = threading.Thread(target=watch, name="watchdog")
    worker = threading.Thread(target=release.wait, args=(5,), name="worker")
    watchdog.start()
    worker.start()
    watchdog.join(5)
    release.set()
    worker.join(5)
    if errors:
        print("no thread with the number %s" % errors[0])
        return 1
    names = {entry["name"] for entry in reports[0].values()}
    if not {"MainThread", "watchdog"} <= names:
        print("missing in %r" % names)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
