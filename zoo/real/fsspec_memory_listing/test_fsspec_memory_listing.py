# SPDX-License-Identifier: Apache-2.0
"""Listing a directory in memory while uploads arrive."""

from concurrent.futures import ThreadPoolExecutor

import fsspec
import pytest


@pytest.fixture
def memory():
    fs = fsspec.filesystem("memory")
    fs.store.clear()
    for number in range(6):
        fs.touch(f"/inbox/old-{number}")
    yield fs
    fs.store.clear()


def test_listing_during_uploads(memory):
    def upload(sender):
        for number in range(4):
            memory.touch(f"/inbox/{sender}-{number}")

    with ThreadPoolExecutor(max_workers=3) as pool:
        uploads = [pool.submit(upload, sender) for sender in ("ann", "bob")]
        listings = pool.submit(lambda: [memory.ls("/inbox", detail=False) for _ in range(4)])
        for job in uploads:
            job.result(timeout=10)

    assert all(len(listing) >= 6 for listing in listings.result(timeout=10))
    assert len(memory.ls("/inbox", detail=False)) == 14
