# SPDX-License-Identifier: Apache-2.0
"""Run a script; a collector flushes the cache of resolved properties meanwhile."""

import threading

SLOTS = {"width": 0, "height": 1, "title": 2}
SCRIPT = ["width", "title", "width"]


class PropertyCache:
    """Where properties live; an empty cache need not be flushed."""

    def __init__(self):
        self.table = {}
        self.empty = True

    def fill(self, name, slot):
        self.table[name] = slot
        self.empty = False

    def flush(self):
        if self.empty:
            return
        self.table.clear()
        self.empty = True


class Interpreter:
    def __init__(self, cache):
        self.cache = cache
        self.lock = threading.Lock()
        self.executed = 0

    def resolve(self, name):
        slot = self.cache.table.get(name)
        if slot is None:
            slot = SLOTS[name]
            self.cache.fill(name, slot)
        return slot

    def run(self, script):
        for name in script:
            self.resolve(name)
            with self.lock:
                self.executed += 1

    def collect(self):
        with self.lock:
            print("collecting after", self.executed)
        self.cache.flush()


def main():
    interpreter = Interpreter(PropertyCache())
    interpreter.resolve("height")
    runner = threading.Thread(target=interpreter.run, args=(SCRIPT,), name="script")
    collector = threading.Thread(target=interpreter.collect, name="collector")
    runner.start()
    collector.start()
    runner.join()
    collector.join()
    interpreter.cache.flush()
    assert not interpreter.cache.table, "there is something left in the cache"


if __name__ == "__main__":
    main()
