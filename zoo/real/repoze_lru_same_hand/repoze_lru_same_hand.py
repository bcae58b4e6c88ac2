# SPDX-License-Identifier: Apache-2.0
"""Four threads memoise different words; the cache has room for all of them."""

import sys
import threading

from repoze.lru import LRUCache

WORDS = {
    "north": ["one", "two", "three"],
    "east": ["eins", "zwei", "drei"],
    "south": ["uno", "dos", "tres"],
    "west": ["un", "deux", "trois"],
}


def remember(cache, barrier, words):
    barrier.wait()
    for word in words:
        cache.put(word, len(word))


def main():
    cache = LRUCache(40)
    barrier = threading.Barrier(len(WORDS))
    threads = [
        threading.Thread(target=remember, name=name, args=(cache, barrier, words))
        for name, words in WORDS.items()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lost = [word for words in WORDS.values() for word in words if cache.get(word) != len(word)]
    if lost:
        print("put into a cache with free slots, and gone:", ", ".join(lost))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
