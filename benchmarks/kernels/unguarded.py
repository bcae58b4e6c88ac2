# SPDX-License-Identifier: Apache-2.0
"""The shared `v += 1` loop. Updates may be lost, so the result is the number of rounds made."""

from teams import in_threads

v = 0


def increment(size):
    global v
    for _ in range(size):
        v += 1
    return size


def run(size, threads=2):
    return sum(in_threads(threads, lambda place: increment(size)))
