# SPDX-License-Identifier: Apache-2.0
"""Sort readings with two workers: each sorts one half, then the halves are merged."""

import threading


def merge(left, right):
    merged = []
    i = j = 0
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            merged.append(left[i])
            i += 1
        else:
            merged.append(right[j])
            j += 1
    return merged + left[i:] + right[j:]


class MergeSort:
    def __init__(self, items):
        middle = len(items) // 2
        self.halves = [items[:middle], items[middle:]]
        self.changed = threading.Condition()
        self.finished = 0

    def start(self):
        for number in range(len(self.halves)):
            threading.Thread(target=self.work, args=(number,)).start()

    def work(self, number):
        self.halves[number] = self.sort(self.halves[number])
        self.finish()

    def sort(self, items):
        runs = [[item] for item in items]
        while len(runs) > 1:
            runs.append(merge(runs.pop(0), runs.pop(0)))
        return runs[0]

    def finish(self):
        with self.changed:
            self.finished += 1
            self.changed.notify()

    def result(self):
        with self.changed:
            while self.finished < len(self.halves):
                self.changed.wait()
        return merge(self.halves[0], self.halves[1])


def main():
    readings = [31, 12, 25, 7]
    sorter = MergeSort(readings)
    sorter.start()
    assert sorter.result() == sorted(readings), "the readings are out of order"


if __name__ == "__main__":
    main()
