# SPDX-License-Identifier: Apache-2.0
"""Sort a list of names by surname: two sorters bubble through the same list."""

import threading


class Tally:
    """How many comparisons all sorters have made."""

    def __init__(self):
        self.lock = threading.Lock()
        self.comparisons = 0

    def add(self, count):
        with self.lock:
            self.comparisons += count


def surname(name):
    return name.rpartition(" ")[2]


def bubble(names, lock, tally):
    for end in range(len(names) - 1, 0, -1):
        for i in range(end):
            if surname(names[i]) > surname(names[i + 1]):
                with lock:
                    names[i], names[i + 1] = names[i + 1], names[i]
        tally.add(end)


def main():
    names = ["Grace Hopper", "Edsger Dijkstra", "Frances Allen"]
    wanted = sorted(names, key=surname)
    tally = Tally()
    swap = threading.Lock()
    sorters = [threading.Thread(target=bubble, args=(names, swap, tally)) for _ in range(2)]
    for sorter in sorters:
        sorter.start()
    for sorter in sorters:
        sorter.join()
    print(tally.comparisons, "comparisons")
    assert names == wanted, "the names are out of order"


if __name__ == "__main__":
    main()
