# SPDX-License-Identifier: Apache-2.0
"""Crawl a small site: two spiders take pages from one shared queue until it is empty."""

import threading


class Page:
    def __init__(self, url, depth):
        self.url = url
        self.depth = depth

    def get_depth(self):
        return self.depth


class Queue:
    """The pages that are still to be visited."""

    def __init__(self):
        self.lock = threading.Lock()
        self.items = []
        self.qsize = 0

    def enqueue(self, page):
        with self.lock:
            self.items.append(page)
            self.qsize += 1

    def size(self):
        with self.lock:
            return self.qsize

    def dequeue(self):
        with self.lock:
            if self.qsize == 0:
                return None
            self.qsize -= 1
            return self.items.pop(0)


class Spider(threading.Thread):
    def __init__(self, queue, max_depth):
        super().__init__()
        self.queue = queue
        self.max_depth = max_depth
        self.visited = []

    def run(self):
        while self.queue.size() > 0:
            page = self.queue.dequeue()
            if page.get_depth() <= self.max_depth:
                self.visited.append(page.url)


def main():
    queue = Queue()
    queue.enqueue(Page("https://example.org/", 0))
    spiders = [Spider(queue, max_depth=2) for _ in range(2)]
    for spider in spiders:
        spider.start()
    for spider in spiders:
        spider.join()
    print("visited", sum(len(spider.visited) for spider in spiders))


if __name__ == "__main__":
    main()
