# SPDX-License-Identifier: Apache-2.0
"""Clients of a service that is to exist once per daemon."""

import sys
import threading

import Pyro4


def counter_class():
    @Pyro4.expose
    @Pyro4.behavior(instance_mode="single")
    class Counter(object):
        def __init__(self):
            self.value = 0
            self.lock = threading.Lock()

        def increment(self):
            with self.lock:
                self.value += 1
                return self.value

    return Counter


def main():
    daemon = Pyro4.Daemon(host="127.0.0.1", port=0)
    uri = daemon.register(counter_class())
    loop = threading.Thread(target=daemon.requestLoop, daemon=True)
    loop.start()
    start, values = threading.Barrier(3), []

    def client():
        with Pyro4.Proxy(uri) as counter:
            counter._pyroBind()
            start.wait(timeout=5)
            values.append(counter.increment())

    clients = [threading.Thread(target=client, daemon=True) for _ in range(3)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join(timeout=5)
    daemon.shutdown()
    daemon.close()
    if sorted(values) != [1, 2, 3]:
        print("three increments of one counter gave", sorted(values))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
