# SPDX-License-Identifier: Apache-2.0
"""Compress a text block by block: consumers take the blocks from a queue and pack them."""

import bz2
import threading
from collections import deque


class BlockQueue:
    def __init__(self, blocks):
        self.mutex = threading.Lock()
        self.blocks = deque(enumerate(blocks))

    def take(self):
        with self.mutex:
            if len(self.blocks) == 0:
                return None
            return self.blocks.popleft()

    def delete(self):
        with self.mutex:
            self.blocks = None


class Output:
    def __init__(self, total):
        self.changed = threading.Condition()
        self.total = total
        self.packed = {}

    def add(self, number, data):
        with self.changed:
            self.packed[number] = data
            self.changed.notify()

    def collect(self):
        with self.changed:
            while len(self.packed) < self.total:
                self.changed.wait()
            return b"".join(self.packed[number] for number in range(self.total))


def consumer(queue, output):
    while (block := queue.take()) is not None:
        number, text = block
        output.add(number, bz2.compress(text))


def compress(text, size):
    blocks = [text[start : start + size] for start in range(0, len(text), size)]
    queue, output = BlockQueue(blocks), Output(len(blocks))
    consumers = [threading.Thread(target=consumer, args=(queue, output)) for _ in range(2)]
    for thread in consumers:
        thread.start()
    packed = output.collect()
    for thread in consumers:
        thread.join()
    queue.delete()
    return packed


def main():
    text = b"to be or not to be, that is the question"
    packed = compress(text, 20)
    assert bz2.decompress(packed) == text, "the packed text is damaged"


if __name__ == "__main__":
    main()
