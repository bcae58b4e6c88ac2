# SPDX-License-Identifier: Apache-2.0
"""Two requests need the prices, which are computed once and then come from the cache."""

import sys
import threading

from flask import Flask
from flask_caching import Cache

app = Flask(__name__)
cache = Cache(app, config={"CACHE_TYPE": "simple"})


@cache.cached(timeout=60, key_prefix="prices")
def prices():
    return {"apple": 0.3, "pear": 0.4}


def main():
    shown = {}

    def request(name):
        shown[name] = prices()

    requests = [threading.Thread(target=request, args=(name,)) for name in ("basket", "checkout")]
    for thread in requests:
        thread.start()
    for thread in requests:
        thread.join(timeout=10)
    if None in shown.values() or len(shown) != 2:
        print("the pages show", shown)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
