# SPDX-License-Identifier: Apache-2.0
"""Code full of handlers that never get anything to do."""

from contextlib import nullcontext

from teams import in_threads


def step_by(number, low):
    try:
        low = (low + number) & 0xFFFF
    except OverflowError:
        low = 0
    finally:
        number = low
    return number


def crunch(size):
    total, nothing = 0, nullcontext()
    for number in range(size):
        try:
            with nothing:
                total += step_by(number, total)
        except (KeyError, ValueError) as error:
            total -= len(str(error))
    return total


def run(size, threads=1):
    return sum(in_threads(threads, lambda place: crunch(size)))
