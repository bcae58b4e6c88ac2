# SPDX-License-Identifier: Apache-2.0
"""A program ends: one part of it shuts the client down, another one joins it, as its handler at exit does."""

import logging
import sys
import threading

import posthog.consumer
from posthog import Posthog

SENT = []


def post(*args, batch=(), **kwargs):
    SENT.extend(event["event"] for event in batch)


def main():
    logging.disable(logging.CRITICAL)
    posthog.consumer.batch_post = post
    client = Posthog("phc_project", host="http://localhost:9", flush_at=1)
    for page in ("home", "prices"):
        client.capture(page, distinct_id="ann")

    closing = threading.Thread(target=client.shutdown, daemon=True)
    closing.start()
    client.join()
    closing.join(timeout=5)
    if closing.is_alive():
        print("never shut down; sent:", SENT)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
