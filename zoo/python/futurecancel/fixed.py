# SPDX-License-Identifier: Apache-2.0
"""Make thumbnails in a worker thread; whoever asked for one may call it off again."""

import queue
import threading
from concurrent.futures import Future


class Studio:
    """A worker that shrinks pictures, one after the other."""

    def __init__(self):
        self.jobs = queue.Queue()
        self.shrunk = []
        self.worker = threading.Thread(target=self.work, name="studio")
        self.worker.start()

    def submit(self, picture):
        future = Future()
        self.jobs.put((future, picture))
        return future

    def work(self):
        while (job := self.jobs.get()) is not None:
            future, picture = job
            if not future.set_running_or_notify_cancel():
                continue
            future.set_result(self.shrink(picture))

    def shrink(self, picture):
        self.shrunk.append(picture)
        return picture.replace(".png", "-small.png")

    def close(self):
        self.jobs.put(None)
        self.worker.join()


class Visitor(threading.Thread):
    """Asks for a picture and moves on to the next page."""

    def __init__(self, studio, picture):
        super().__init__()
        self.studio = studio
        self.picture = picture
        self.missed = False

    def run(self):
        thumbnail = self.studio.submit(self.picture)
        self.missed = thumbnail.cancel()


def main():
    studio = Studio()
    visitors = [Visitor(studio, "sea.png")]
    studio.submit("title.png")
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join()
    studio.close()
    print("shrunk", studio.shrunk, "missed", [visitor.missed for visitor in visitors])


if __name__ == "__main__":
    main()
