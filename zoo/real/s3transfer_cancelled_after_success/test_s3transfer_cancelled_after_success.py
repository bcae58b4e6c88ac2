# SPDX-License-Identifier: Apache-2.0
"""An upload is cancelled when it is nearly over. Either it is cancelled, or the object is there."""

import io
import threading
import time
from concurrent.futures import CancelledError
from unittest import mock

import pytest
from s3transfer.manager import TransferManager


class Bucket:
    def __init__(self):
        self.meta = mock.Mock()
        self.objects = {}
        self.uploading = threading.Event()

    def put_object(self, Bucket, Key, Body):
        content = Body.read()
        self.uploading.set()
        time.sleep(0.02)
        self.objects[Key] = content
        return {}


@pytest.fixture
def bucket():
    return Bucket()


@pytest.fixture
def manager(bucket):
    with TransferManager(bucket) as manager:
        yield manager


def test_cancelled_or_uploaded(manager, bucket):
    future = manager.upload(io.BytesIO(b"a year of sales"), "reports", "sales.csv")
    assert bucket.uploading.wait(timeout=5)
    future.cancel()
    try:
        future.result()
        assert bucket.objects == {"sales.csv": b"a year of sales"}
    except CancelledError:
        assert bucket.objects == {}
