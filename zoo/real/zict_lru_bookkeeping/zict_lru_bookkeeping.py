# SPDX-License-Identifier: Apache-2.0
"""Three producers fill one bounded LRU; nothing may get lost between memory and the spill."""

import sys
from concurrent.futures import ThreadPoolExecutor, as_completed

from zict import LRU

PRODUCERS = "abc"
ITEMS = 6


def produce(lru, name):
    for number in range(ITEMS):
        lru["%s%d" % (name, number)] = "x" * (number + 1)


def main():
    spilled = {}
    lru = LRU(12, {}, on_evict=spilled.__setitem__, weight=lambda key, value: len(value))
    with ThreadPoolExecutor(len(PRODUCERS)) as pool:
        jobs = {pool.submit(produce, lru, name): name for name in PRODUCERS}
        failed = [(jobs[job], job.exception()) for job in as_completed(jobs) if job.exception()]
    for name, error in failed:
        print("producer %s: %r" % (name, error))
    kept = dict(lru.items())
    lost = {n + str(i) for n in PRODUCERS for i in range(ITEMS)} - set(kept) - set(spilled)
    if lost:
        print("neither kept nor spilled:", sorted(lost))
    weight = sum(map(len, kept.values()))
    if weight != lru.total_weight:
        print("weight of the values %d, of the books %d" % (weight, lru.total_weight))
    return 1 if failed or lost or weight != lru.total_weight else 0


if __name__ == "__main__":
    sys.exit(main())
