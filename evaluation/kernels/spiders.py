# SPDX-License-Identifier: Apache-2.0
"""Spiders take pages from a queue, each look and each removal under the queue's lock."""

import sys
import threading


class Pages:
    """A queue that counts what is in it."""

    def __init__(self, count: int) -> None:
        self.lock = threading.Lock()
        self.pages = list(range(count))
        self.left = count

    def size(self) -> int:
        """How many pages are left."""
        with self.lock:
            return self.left

    def take(self) -> int | None:
        """The next page, if there is one."""
        with self.lock:
            if self.left == 0:
                return None
            self.left -= 1
            return self.pages.pop()


def spider(pages: Pages) -> None:
    """Take pages until none is left."""
    while pages.size() > 0:
        pages.take()


def main(threads: int) -> None:
    """Let all spiders work at once; two pages for each."""
    pages = Pages(2 * threads)
    spiders = [threading.Thread(target=spider, args=(pages,)) for _ in range(threads)]
    for one in spiders:
        one.start()
    for one in spiders:
        one.join()


if __name__ == "__main__":
    main(int(sys.argv[1]))
