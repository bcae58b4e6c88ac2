# SPDX-License-Identifier: Apache-2.0
"""Arithmetic on local variables: nothing that another thread could see."""

from teams import in_threads


def crunch(size):
    total, low, high = 0, 1, 2
    for step in range(size):
        low, high = high, (low + high) & 0xFFFF
        if low > high:
            total += low - step % 7
        else:
            total ^= high
    return total


def run(size, threads=1):
    return sum(in_threads(threads, lambda place: crunch(size)))
