# SPDX-License-Identifier: Apache-2.0
"""A worker hands a callback to the event loop while it is being shut down; exit 1 if the callback is lost."""

import sys
import threading

from kombu.asynchronous.hub import Hub


def main():
    hub = Hub()
    called = []
    hub.call_soon(called.append, "flush")

    going_down = threading.Event()

    def work():
        going_down.wait(5)
        hub.call_soon(called.append, "report")

    worker = threading.Thread(target=work)
    worker.start()
    going_down.set()
    hub.close()
    worker.join(5)
    hub.close()  # whatever came too late for the first one
    if sorted(called) != ["flush", "report"]:
        print("called: %r" % called)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
