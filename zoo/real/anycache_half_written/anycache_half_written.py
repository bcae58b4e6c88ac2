# SPDX-License-Identifier: Apache-2.0
"""Two workers fill one cache directory of limited size."""

import sys
import tempfile
import threading

from anycache import AnyCache


def main():
    with tempfile.TemporaryDirectory() as folder:
        cache = AnyCache(cachedir=folder, maxsize=100000)

        @cache.anycache()
        def render(page):
            return "<html>%s</html>" % page

        trouble = []

        def worker(pages):
            for page in pages:
                try:
                    render(page)
                except OSError as exc:
                    trouble.append(exc)

        workers = [threading.Thread(target=worker, args=(pages,)) for pages in (["home", "news"], ["about", "shop"])]
        for thread in workers:
            thread.start()
        for thread in workers:
            thread.join(timeout=20)
    if trouble:
        print("rendering failed:", trouble[0])
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
