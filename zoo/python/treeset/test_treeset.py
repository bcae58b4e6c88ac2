# SPDX-License-Identifier: Apache-2.0
"""Tests of a sorted set, kept as a binary tree, that several threads add to."""

import threading


class Node:
    def __init__(self, value):
        self.value = value
        self.left = None
        self.right = None


class TreeSet:
    def __init__(self, root):
        self.root = Node(root)
        self.lock = threading.Lock()
        self.added = 0

    def add(self, value):
        self.insert(self.root, value)
        with self.lock:
            self.added += 1

    def insert(self, node, value):
        while node.value != value:
            if value < node.value:
                if node.left is None:
                    node.left = Node(value)
                node = node.left
            else:
                if node.right is None:
                    node.right = Node(value)
                node = node.right

    def values(self):
        """All values, from the smallest to the largest."""
        below, node, values = [], self.root, []
        while below or node is not None:
            while node is not None:
                below.append(node)
                node = node.left
            node = below.pop()
            values.append(node.value)
            node = node.right
        return values


class Adder(threading.Thread):
    def __init__(self, target, values):
        super().__init__()
        self.target = target
        self.values = values

    def run(self):
        for value in self.values:
            self.target.add(value)


def test_two_threads_add_values():
    years = TreeSet(1950)
    adders = [Adder(years, [1969, 1972]), Adder(years, [1957, 1961])]
    for adder in adders:
        adder.start()
    for adder in adders:
        adder.join()
    assert years.added == 4
    assert years.values() == [1950, 1957, 1961, 1969, 1972]
