# SPDX-License-Identifier: Apache-2.0
"""The first two requests of a calendar server want to write."""

import logging
import threading

import pytest
from radicale import config, storage


@pytest.fixture
def collection(tmp_path):
    settings = {"filesystem_folder": str(tmp_path), "filesystem_locking": "False"}
    configuration = config.load(extra_config={"storage": settings})
    return storage.load(configuration, logging.getLogger("radicale"))


def test_writers_exclude_each_other(collection, tmp_path):
    counter = tmp_path / "counter"
    counter.write_text("0")

    def request():
        with collection.acquire_lock("w"):
            number = int(counter.read_text())
            counter.write_text(str(number + 1))

    threads = [threading.Thread(target=request) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)

    assert counter.read_text() == "2"
