# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: D102  a specimen: the module docstring says what it is
"""Producers and consumers over a queue, with a locked cache and shared counters."""

import queue
import threading

from teams import in_threads

CAPACITY = 32
PAGES = 97
END = None


class Cache:
    """Pages by number, made on the first look-up."""

    def __init__(self):
        self.lock = threading.Lock()
        self.pages = {}
        self.hits = 0

    def page(self, number):
        with self.lock:
            page = self.pages.get(number)
            if page is None:
                page = self.pages[number] = render(number)
            else:
                self.hits += 1
            return page


class Counters:
    """What the consumers have done together."""

    def __init__(self):
        self.lock = threading.Lock()
        self.done = 0
        self.bytes = 0

    def add(self, size):
        with self.lock:
            self.done += 1
            self.bytes += size


def render(number):
    return f"page {number} " * (number % 5 + 1)


def score(page):
    total = 0
    for letter in page:
        total = (total * 31 + ord(letter)) & 0xFFFFFF
    return total


def produce(jobs, first, size):
    for number in range(first, first + size):
        jobs.put((number * number) % PAGES)
    jobs.put(END)


def consume(jobs, cache, counters):
    total = 0
    while True:
        number = jobs.get()
        if number is END:
            return total
        page = cache.page(number)
        total += score(page)
        counters.add(len(page))


def run(size, threads=4):
    jobs, cache, counters = queue.Queue(CAPACITY), Cache(), Counters()

    def work(place):
        if place % 2 == 0:
            produce(jobs, place * size, size)
            return 0
        return consume(jobs, cache, counters)

    total = sum(in_threads(threads, work))
    return total + counters.done + counters.bytes + cache.hits + len(cache.pages)
