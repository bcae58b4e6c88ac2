# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: D101  a specimen: the module docstring says what it is
"""A loop of attribute reads and writes, on instances with and without slots."""

from teams import in_threads


class Point:
    def __init__(self, x, y):
        self.x = x
        self.y = y


class Turtle:
    __slots__ = ("heading", "place", "steps")

    def __init__(self):
        self.place = Point(0, 0)
        self.heading = Point(1, 3)
        self.steps = 0


def walk(size):
    turtle = Turtle()
    place = turtle.place
    for _ in range(size):
        place.x = place.x + turtle.heading.x
        place.y = place.y - turtle.heading.y
        turtle.steps += 1
        if place.x > 1000:
            place.x = 0
    return place.x * 7 + place.y + turtle.steps


def run(size, threads=1):
    return sum(in_threads(threads, lambda place: walk(size)))
