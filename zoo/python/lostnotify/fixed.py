# SPDX-License-Identifier: Apache-2.0
"""Hand the result of a computation from one thread to another through a promise."""

import threading


class Promise:
    def __init__(self):
        self.changed = threading.Condition()
        self.ready = False
        self.value = None

    def fulfil(self, value):
        with self.changed:
            self.value = value
            self.ready = True
            self.changed.notify()

    def get(self):
        with self.changed:
            while not self.ready:
                self.changed.wait()
        return self.value


def main():
    promise = Promise()
    seen = []
    reader = threading.Thread(target=lambda: seen.append(promise.get()))
    writer = threading.Thread(target=lambda: promise.fulfil(sum(range(10))))
    reader.start()
    writer.start()
    reader.join()
    writer.join()
    print("result", seen[0])


if __name__ == "__main__":
    main()
