# SPDX-License-Identifier: Apache-2.0
"""Tests of a hash set that one thread fills while others look items up."""

import threading


def bucket_of(item, count):
    return sum(item.encode()) % count


class HashSet:
    def __init__(self, items=()):
        self.lock = threading.RLock()
        self.buckets = [[], []]
        self.size = 0
        for item in items:
            self.add(item)

    def add(self, item):
        with self.lock:
            if self.contains(item):
                return
            if self.size == 2 * len(self.buckets):
                self.grow()
            self.buckets[bucket_of(item, len(self.buckets))].append(item)
            self.size += 1

    def grow(self):
        count = 2 * len(self.buckets)
        buckets = [[] for _ in range(count)]
        for bucket in self.buckets:
            for item in bucket:
                buckets[bucket_of(item, count)].append(item)
        self.buckets = buckets

    def contains(self, item):
        with self.lock:
            place = bucket_of(item, len(self.buckets))
            return item in self.buckets[place]

    def __len__(self):
        with self.lock:
            return self.size


def test_items_are_found_while_the_set_grows():
    colours = HashSet(["red", "lime", "blue", "gold"])
    found = []

    def look_up(item):
        found.append(colours.contains(item))

    threads = [
        threading.Thread(target=look_up, args=("red",)),
        threading.Thread(target=look_up, args=("lime",)),
        threading.Thread(target=colours.add, args=("grey",)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(colours) == 5
    assert found == [True, True]
