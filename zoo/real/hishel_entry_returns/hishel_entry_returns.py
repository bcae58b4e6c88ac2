# SPDX-License-Identifier: Apache-2.0
"""A cached page is refreshed by one thread while another one takes it out of the cache."""

import sqlite3
import sys
import threading
from dataclasses import replace

from hishel import Headers, Request, Response, SyncSqliteStorage

KEY = "GET|/news"


def cache_with_a_page():
    connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    storage = SyncSqliteStorage(connection=connection)
    request = Request(method="GET", url="https://example.org/news")
    response = Response(200, headers=Headers({"etag": "1"}), stream=iter([b"<p>news</p>"]))
    entry = storage.create_entry(request, response, KEY)
    for _ in entry.response.stream:  # what a client reads is stored on the way
        pass
    assert len(storage.get_entries(KEY)) == 1
    return storage, entry.id


def refreshed(entry):
    return replace(entry, response=replace(entry.response, headers=Headers({"etag": "2"})))


def main():
    storage, page = cache_with_a_page()
    threads = [
        threading.Thread(target=storage.update_entry, args=(page, refreshed)),
        threading.Thread(target=storage.remove_entry, args=(page,)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    left = storage.get_entries(KEY)
    storage.close()
    if left:
        print("the page that was removed is still there:", left)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
