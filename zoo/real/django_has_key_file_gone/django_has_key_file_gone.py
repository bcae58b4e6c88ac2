# SPDX-License-Identifier: Apache-2.0
"""A view asks whether a page is in the file cache while another one throws the page out."""

import sys
import tempfile
import threading

from django.core.cache.backends.filebased import FileBasedCache


def main():
    failures = []

    def view(cache):
        try:
            cache.has_key("page")
        except OSError as error:
            failures.append(error)

    with tempfile.TemporaryDirectory() as folder:
        cache = FileBasedCache(folder, {})
        cache.set("page", "<html>")
        asking = threading.Thread(target=view, args=(cache,))
        editing = threading.Thread(target=cache.delete, args=("page",))
        for thread in (asking, editing):
            thread.start()
        for thread in (asking, editing):
            thread.join()
    for failure in failures:
        print("has_key():", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
