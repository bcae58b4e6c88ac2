# SPDX-License-Identifier: Apache-2.0
"""Spread downloads over the mirrors in turn; at night only one mirror is up."""

import threading


class CircularList:
    """A list whose head moves to the tail each time it is asked for."""

    def __init__(self, items):
        self.items = list(items)

    def advance(self):
        item = self.items.pop(0)
        self.items.append(item)
        return item


def download(mirrors, names, done):
    for name in names:
        done.append(f"{mirrors.advance()}/{name}")


def main():
    mirrors = CircularList(["https://mirror.example.org"])
    done = []
    batches = [["a.tar", "b.tar"], ["c.tar", "d.tar"]]
    threads = [threading.Thread(target=download, args=(mirrors, names, done)) for names in batches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("downloaded", len(done))


if __name__ == "__main__":
    main()
