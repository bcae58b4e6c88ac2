# SPDX-License-Identifier: Apache-2.0
"""Several threads of one process put tasks into a queue of files."""

import threading

import pytest
from huey import FileHuey


@pytest.fixture
def storage(tmp_path):
    return FileHuey("orders", path=str(tmp_path / "huey")).storage


@pytest.mark.parametrize("producers", [3])
def test_threads_can_enqueue_together(storage, producers):
    problems = []
    start = threading.Barrier(producers)

    def produce(number):
        start.wait()
        try:
            storage.enqueue(b"task %d" % number)
        except Exception as exc:
            problems.append(exc)

    threads = [threading.Thread(target=produce, args=(n,), daemon=True) for n in range(producers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=2)

    assert not problems
    assert not any(thread.is_alive() for thread in threads)
    assert storage.queue_size() == producers
