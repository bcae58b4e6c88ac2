# SPDX-License-Identifier: Apache-2.0
"""A crawler's pages are fetched in the event loop and indexed by a thread, through one queue."""

import asyncio
import hashlib
import sys
import threading

import janus

INDEXED = []


def index(pages):
    page = pages.get(timeout=5)
    hashlib.sha256(page.encode() * 1_000_000).hexdigest()
    INDEXED.append(page)
    pages.task_done()


async def archive(pages):
    while True:
        page = await pages.get()
        await asyncio.sleep(0.01)
        INDEXED.append(page)
        pages.task_done()


async def crawl():
    queue = janus.Queue()
    queue.async_q.put_nowait("home")
    indexing = threading.Thread(target=index, args=(queue.sync_q,))
    indexing.start()
    queue.async_q.put_nowait("prices")
    archiving = asyncio.create_task(archive(queue.async_q))
    await queue.async_q.join()
    archiving.cancel()
    indexing.join()
    queue.close()
    await queue.wait_closed()


def main():
    crawling = threading.Thread(target=asyncio.run, args=(crawl(),), daemon=True)
    crawling.start()
    crawling.join(timeout=5)
    if crawling.is_alive():
        print("never joined; indexed:", INDEXED)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
