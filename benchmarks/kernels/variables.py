# SPDX-License-Identifier: Apache-2.0
"""Counters that are globals and closure cells."""

from teams import in_threads

ticks = 0
limit = 1 << 20


def make_counter():
    count = 0

    def step():
        nonlocal count
        count += 1
        return count

    def value():
        return count

    return step, value


def count_globals(size):
    global ticks
    for _ in range(size):
        ticks += 1
        if ticks > limit:
            ticks = 0
    return ticks


def count_cells(size):
    step, value = make_counter()
    for _ in range(size):
        step()
    return value()


def run(size, threads=1):
    global ticks
    ticks = 0
    return sum(in_threads(threads, lambda place: count_globals(size) + count_cells(size // 2)))
