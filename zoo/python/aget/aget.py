# SPDX-License-Identifier: Apache-2.0
"""Download a file in segments, and save how far it got when the user interrupts."""

import threading

REMOTE = b"the quick brown fox jumps"
PIECE = 8


class Progress:
    def __init__(self):
        self.offsets = []
        self.written = 0


class Segment(threading.Thread):
    def __init__(self, download, start, end):
        super().__init__()
        self.download = download
        self.begin = start
        self.offset = start
        self.end = end

    def run(self):
        while self.offset < self.end:
            piece = REMOTE[self.offset : min(self.offset + PIECE, self.end)]
            self.download.store(self.offset, piece)
            self.offset += len(piece)
            self.download.count(len(piece))


class Download:
    def __init__(self, size):
        self.lock = threading.Lock()
        self.interrupted = threading.Event()
        self.data = bytearray(size)
        self.written = 0
        self.segments = [Segment(self, 0, size // 2), Segment(self, size // 2, size)]

    def store(self, offset, piece):
        self.data[offset : offset + len(piece)] = piece

    def count(self, size):
        with self.lock:
            self.written += size

    def save(self, progress):
        self.interrupted.wait()
        with self.lock:
            for segment in self.segments:
                progress.offsets.append(segment.offset)
            progress.written = self.written


def main():
    download = Download(len(REMOTE))
    progress = Progress()
    saver = threading.Thread(target=download.save, args=(progress,))
    saver.start()
    for segment in download.segments:
        segment.start()
    download.interrupted.set()
    for thread in (saver, *download.segments):
        thread.join()
    fetched = sum(progress.offsets) - sum(segment.begin for segment in download.segments)
    assert fetched == progress.written, "the download cannot be resumed"


if __name__ == "__main__":
    main()
