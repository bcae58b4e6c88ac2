# SPDX-License-Identifier: Apache-2.0
"""Two emitters report the same change of a file to one queue, and it is handled once."""

import sys
import threading

from watchdog.events import FileModifiedEvent
from watchdog.observers.api import EventQueue


class Emitter(threading.Thread):
    def __init__(self, queue, paths):
        super().__init__(daemon=True)
        self.queue, self.paths = queue, paths

    def run(self):
        for path in self.paths:
            self.queue.put(FileModifiedEvent(path))


def main():
    queue = EventQueue()
    queue.put(FileModifiedEvent("/srv/site/old.css"))
    emitters = [Emitter(queue, ["/srv/site/index.html"]) for _ in range(2)]
    for emitter in emitters:
        emitter.start()
    for emitter in emitters:
        emitter.join()
    handled = []
    while not queue.empty():
        handled.append(queue.get().src_path)
    if handled != ["/srv/site/old.css", "/srv/site/index.html"]:
        print("handled", handled)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
