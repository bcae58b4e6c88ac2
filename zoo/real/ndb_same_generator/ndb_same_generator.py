# SPDX-License-Identifier: Apache-2.0
"""A web server opens a context for each request, in the thread of the request."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

from google.auth.credentials import AnonymousCredentials
from google.cloud import ndb

PATHS = ["/", "/cart", "/login"]


def main():
    os.environ["DATASTORE_EMULATOR_HOST"] = "localhost:8081"
    client = ndb.Client(project="shop", credentials=AnonymousCredentials())

    def handle(path):
        with client.context() as context:
            return context.id

    with ThreadPoolExecutor(max_workers=len(PATHS)) as server:
        requests = {path: server.submit(handle, path) for path in PATHS}

    failed = [path for path in PATHS if requests[path].exception()]
    if failed:
        sys.exit(f"500 Internal Server Error: {failed[0]}: {requests[failed[0]].exception()!r}")
    if len({request.result() for request in requests.values()}) < len(PATHS):
        sys.exit("two requests have the same context id")


if __name__ == "__main__":
    main()
