# SPDX-License-Identifier: Apache-2.0
"""Collect records in chunks: writers fill the active chunk, a flusher moves it to the archive."""

import threading


class Chunk:
    def __init__(self):
        self.lock = threading.Lock()
        self.records = []
        self.closed = False

    def add(self, record):
        with self.lock:
            if self.closed:
                raise ValueError("the chunk is closed")
            self.records.append(record)

    def close(self):
        with self.lock:
            self.closed = True
            return self.records


class BufferedWriter:
    def __init__(self):
        self.lock = threading.Lock()
        self.active = Chunk()
        self.archive = []
        self.size = 0

    def write(self, record):
        self.active.add(record)
        with self.lock:
            self.size += len(record)

    def flush(self):
        with self.lock:
            chunk = self.active
            self.active = Chunk()
            self.archive.extend(chunk.close())


def produce(writer, source, count):
    for number in range(count):
        writer.write(f"{source} {number}")


def main():
    writer = BufferedWriter()
    threads = [
        threading.Thread(target=produce, args=(writer, "disk", 2)),
        threading.Thread(target=produce, args=(writer, "net", 1)),
        threading.Thread(target=writer.flush),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.flush()
    print(len(writer.archive), "records,", writer.size, "characters")


if __name__ == "__main__":
    main()
