# SPDX-License-Identifier: Apache-2.0
"""Exceptions as control flow: caught at once, through a `finally`, raised again, by a `with`."""

from contextlib import suppress

from teams import in_threads


def look_up(table, key):
    try:
        return table[key]
    except KeyError:
        return 1


def passing_by(value):
    try:
        return int(value)
    finally:
        value += "0"


def again(value):
    try:
        return passing_by(value)
    except ValueError:
        raise


def raises(size):
    total, table = 0, {}
    for step in range(size):
        total += look_up(table, step)
        with suppress(ValueError):
            total += again("x")
        try:
            total += again("y")
        except OSError:
            total -= 1
        except ValueError:
            total += 2
    return total


def run(size, threads=1):
    return sum(in_threads(threads, lambda place: raises(size)))
