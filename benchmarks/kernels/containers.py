# SPDX-License-Identifier: Apache-2.0
"""A loop over lists, dicts and sets: subscripts, append and pop, `in`, iteration."""

from teams import in_threads

WIDTH = 64


def churn(size):
    row = list(range(WIDTH))
    table = {key: key for key in range(WIDTH)}
    seen = {1, 2, 3}
    stack = []
    total = 0
    for step in range(size):
        at = step % WIDTH
        row[at] = row[at - 1] + 1
        table[at] = table[at] + row[at]
        stack.append(at)
        if at in seen:
            total += stack.pop()
        if at == 0:
            for value in row:
                total += value
            stack.clear()
    return total + sum(table.values())


def run(size, threads=1):
    return sum(in_threads(threads, lambda place: churn(size)))
