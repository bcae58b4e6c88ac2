# SPDX-License-Identifier: Apache-2.0
"""Two spiders visit the pages of one queue. Every access holds the lock; and yet.

The program that `unsnarl demo` hunts, after the Weblech bug of Recon (PLDI 2011), figure 3.
"""

import threading
from typing import Any


class Queue:
    """Pages that are still to be visited."""

    def __init__(self, pages: list[str]) -> None:
        self.lock = threading.Lock()
        self.pages = pages
        self.length = len(pages)

    def size(self) -> int:
        """How many pages are left."""
        with self.lock:
            return self.length

    def take(self) -> Any:
        """The next page, or None if another spider took the last one."""
        with self.lock:
            if self.length == 0:
                return None
            self.length -= 1
            return self.pages.pop()


def visit(queue: Queue, visited: list[str]) -> None:
    """Visit pages until none is left."""
    while queue.size() > 0:
        page = queue.take()
        visited.append(page.lower())


def main() -> None:
    """Let two spiders visit one page."""
    queue = Queue(["Index"])
    visited: list[str] = []
    spiders = [threading.Thread(target=visit, args=(queue, visited)) for _ in range(2)]
    for spider in spiders:
        spider.start()
    for spider in spiders:
        spider.join()
    print("visited", *visited)


if __name__ == "__main__":
    main()
