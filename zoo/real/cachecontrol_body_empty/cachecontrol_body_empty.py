# SPDX-License-Identifier: Apache-2.0
"""A mirror serves a page from its cache on disk, and refreshes it now and then."""

import sys
import tempfile
import threading

from cachecontrol.caches import SeparateBodyFileCache

PAGE = "https://mirror.example/simple/flask/"


def serve(cache, served, stop):
    while not stop.wait(0.005):
        body = cache.get_body(PAGE)
        if body is None:  # not cached
            continue
        with body:
            served.add(body.read().decode())


def main():
    pages = ["flask 2.3.0", "flask 3.0.0", "flask 3.1.0"]
    with tempfile.TemporaryDirectory() as directory:
        cache = SeparateBodyFileCache(directory)
        cache.set_body(PAGE, pages[0].encode())

        served, stop = set(), threading.Event()
        server = threading.Thread(target=serve, args=(cache, served, stop))
        server.start()
        for page in pages[1:]:
            cache.set_body(PAGE, page.encode())
        stop.set()
        server.join()

    wrong = served.difference(pages)
    if wrong:
        print("served:", sorted(wrong))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
