# SPDX-License-Identifier: Apache-2.0
"""Tests of a frame that shows the last lines of a text while the text is scrolled."""

import threading
from concurrent.futures import ThreadPoolExecutor

LINES = ["To be, or not to be,", "that is the question:", "whether 'tis nobler"]


class TextFrame:
    """A window on some lines, from `offset` on."""

    __slots__ = ("length", "lines", "lock", "offset", "painted")

    def __init__(self, lines):
        self.lock = threading.Lock()
        self.lines = lines
        self.offset = 0
        self.length = len(lines)
        self.painted = 0

    def lines_from(self, offset):
        return max(len(self.lines) - offset, 0)

    def reflow(self, offset):
        with self.lock:
            self.offset = offset
            self.length = self.lines_from(offset)

    def paint(self):
        with self.lock:
            first = self.offset
            last = first + self.length
        rows = [self.lines[number].upper() for number in range(first, last)]
        with self.lock:
            self.painted += 1
        return rows


def scroll(frame):
    for offset in (1, 2):
        frame.reflow(offset)


def test_paint_while_scrolling():
    frame = TextFrame(LINES)
    with ThreadPoolExecutor(max_workers=2) as pool:
        pictures = [pool.submit(frame.paint)]
        scrolled = pool.submit(scroll, frame)
        pictures.append(pool.submit(frame.paint))
    scrolled.result()
    assert all(picture.result() for picture in pictures)
    assert frame.painted == 2
