# SPDX-License-Identifier: Apache-2.0
"""Show how a download gets on: one thread sets the status line, another draws it."""

import threading


def columns(text):
    """How many columns of a terminal the text takes."""
    return len(text.expandtabs())


class Status:
    def __init__(self, text):
        self.text = text
        self.length = columns(text)

    def show(self, text):
        self.text = text
        self.length = columns(text)

    def ending(self):
        text = self.text
        return text[self.length - 1]


def download(status):
    for step in ("verifying", "ok"):
        status.show(step)


def draw(status, frames):
    for _ in range(2):
        frames.append(status.ending())


def main():
    status = Status("downloading")
    frames = []
    downloader = threading.Thread(target=download, args=(status,))
    painter = threading.Thread(target=draw, args=(status, frames))
    downloader.start()
    painter.start()
    downloader.join()
    painter.join()
    print("drawn", len(frames))


if __name__ == "__main__":
    main()
