# SPDX-License-Identifier: Apache-2.0
"""Dine: three philosophers share three forks, and each of them needs two forks to eat."""

import threading


class Diary:
    """Who has eaten how often."""

    def __init__(self):
        self.lock = threading.Lock()
        self.meals = {}

    def write(self, name):
        with self.lock:
            self.meals[name] = self.meals.get(name, 0) + 1


class Philosopher(threading.Thread):
    def __init__(self, name, left, right, diary):
        super().__init__(name=name)
        self.left = left
        self.right = right
        self.diary = diary

    def run(self):
        for _ in range(2):
            self.eat()

    def eat(self):
        with self.left:
            with self.right:
                self.diary.write(self.name)


def main():
    names = ["Hypatia", "Diotima", "Aspasia"]
    forks = [threading.Lock() for _ in names]
    diary = Diary()
    philosophers = []
    for seat, name in enumerate(names):
        left, right = seat, (seat + 1) % len(forks)
        philosophers.append(Philosopher(name, forks[left], forks[right], diary))
    for philosopher in philosophers:
        philosopher.start()
    for philosopher in philosophers:
        philosopher.join()
    assert sum(diary.meals.values()) == 6, "somebody is still hungry"


if __name__ == "__main__":
    main()
