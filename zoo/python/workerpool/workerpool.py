# SPDX-License-Identifier: Apache-2.0
"""Render the pages of a small site with a pool of workers.

The workers take page names from a queue, render each page through a cache of
compiled templates, and keep statistics. Closing the pool lets the workers
finish what is queued, then stops them one after the other.
"""

import queue
import threading

TEMPLATES = {
    "article": "<h1>{title}</h1><p>{body}</p>",
    "gallery": "<h1>{title}</h1><img src='{body}'>",
}

PAGES = {
    "home": ("article", {"title": "Home", "body": "Welcome."}),
    "photos": ("gallery", {"title": "Photos", "body": "sea.png"}),
    "about": ("article", {"title": "About", "body": "Who we are."}),
}


class Template:
    """A template, cut into its text and the names of its fields."""

    def __init__(self, source):
        self.parts = []
        for piece in source.split("{"):
            field, brace, text = piece.rpartition("}")
            self.parts.append((field if brace else None, text))

    def render(self, fields):
        text = ""
        for field, rest in self.parts:
            if field is not None:
                text += fields[field]
            text += rest
        return text


class Statistics:
    """What the workers have done so far."""

    def __init__(self):
        self.lock = threading.Lock()
        self.hits = 0
        self.misses = 0
        self.size = 0

    def hit(self):
        with self.lock:
            self.hits += 1

    def miss(self):
        with self.lock:
            self.misses += 1

    def rendered(self, text):
        self.size = self.size + encoded_size(text)


def encoded_size(text):
    return len(text.encode("utf-8"))


class TemplateCache:
    """The templates compiled last; the oldest one makes room for a new one."""

    def __init__(self, capacity, statistics):
        self.lock = threading.Lock()
        self.capacity = capacity
        self.statistics = statistics
        self.entries = {}

    def get(self, name):
        if name in self.entries:
            self.statistics.hit()
            return self.entries[name]
        self.statistics.miss()
        template = Template(TEMPLATES[name])
        self.store(name, template)
        return template

    def store(self, name, template):
        with self.lock:
            if len(self.entries) >= self.capacity:
                oldest = next(iter(self.entries))
                del self.entries[oldest]
            self.entries[name] = template


class Pool:
    """A fixed number of workers that render pages."""

    def __init__(self, workers, capacity):
        self.jobs = queue.Queue()
        self.statistics = Statistics()
        self.cache = TemplateCache(capacity, self.statistics)
        self.output = {}
        self.workers = [
            threading.Thread(target=self.work, name=f"worker-{number}")
            for number in range(workers)
        ]

    def start(self):
        for worker in self.workers:
            worker.start()

    def submit(self, page):
        self.jobs.put(page)

    def work(self):
        while True:
            page = self.jobs.get()
            if page is None:
                break
            self.output[page] = self.render(page)
            self.statistics.rendered(self.output[page])

    def render(self, page):
        name, fields = PAGES[page]
        template = self.cache.get(name)
        return template.render(fields)

    def close(self):
        for _ in self.workers:
            self.jobs.put(None)
        for worker in self.workers:
            worker.join()


def main():
    pool = Pool(workers=2, capacity=1)
    pool.cache.get("article")
    pool.start()
    for page in PAGES:
        pool.submit(page)
    pool.close()
    size = sum(encoded_size(text) for text in pool.output.values())
    assert pool.statistics.size == size, "the statistics do not add up"
    print(f"{len(pool.output)} pages, {size} bytes")


if __name__ == "__main__":
    main()
