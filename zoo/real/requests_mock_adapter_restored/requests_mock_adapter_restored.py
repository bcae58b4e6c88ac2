# SPDX-License-Identifier: Apache-2.0
"""A client with one session fetches its pages in parallel; its test mocks all of them."""

import sys
from concurrent.futures import ThreadPoolExecutor, as_completed

import requests
import requests_mock

PAGES = ("users", "groups", "rights")


def main():
    session = requests.Session()
    texts = {}
    with requests_mock.Mocker() as mock:
        for page in PAGES:
            mock.get(f"mock://api/{page}", text=page.upper())
        with ThreadPoolExecutor(max_workers=3) as pool:
            futures = {pool.submit(session.get, f"mock://api/{page}"): page for page in PAGES}
            for future in as_completed(futures, timeout=10):
                texts[futures[future]] = future.result().text
    if texts != {page: page.upper() for page in PAGES}:
        print("the pages were", texts)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
