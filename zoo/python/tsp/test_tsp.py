# SPDX-License-Identifier: Apache-2.0
"""Tests of a solver for the travelling salesman: workers try the tours by first stop."""

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

DISTANCES = [
    [0, 10, 15, 20],
    [5, 0, 9, 13],
    [6, 11, 0, 7],
    [8, 8, 12, 0],
]


class Solver:
    def __init__(self, distances):
        self.distances = distances
        self.lock = threading.Lock()
        self.best = {"length": 1000, "tour": None}
        self.tried = 0

    def length(self, tour):
        return sum(self.distances[here][there] for here, there in itertools.pairwise(tour))

    def search(self, first):
        others = [city for city in range(1, len(self.distances)) if city != first]
        for rest in itertools.permutations(others):
            self.record((0, first, *rest, 0))

    def record(self, tour):
        length = self.length(tour)
        if length < self.best["length"]:
            with self.lock:
                self.best["length"] = length
                self.best["tour"] = tour
        with self.lock:
            self.tried += 1


def test_shortest_tour():
    solver = Solver(DISTANCES)
    with ThreadPoolExecutor(max_workers=3) as pool:
        list(pool.map(solver.search, (1, 2, 3)))
    assert solver.tried == 6
    assert solver.best["length"] == 34
