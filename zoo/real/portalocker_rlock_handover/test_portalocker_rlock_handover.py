# SPDX-License-Identifier: Apache-2.0
"""One RLock object for a whole service: one job gives the file back as the next one asks for it."""

import threading

import portalocker
import pytest


@pytest.fixture
def journal(tmp_path):
    return tmp_path / "journal.log"


def test_release_meets_acquire(journal):
    lock = portalocker.RLock(str(journal), timeout=3, check_interval=0.02)
    lock.acquire().write("begin\n")
    problems = []

    def next_job():
        try:
            file = lock.acquire()
            try:
                file.write("next\n")
            finally:
                lock.release()
        except (AssertionError, ValueError, portalocker.LockException) as error:
            problems.append(error)

    job = threading.Thread(target=next_job, name="next job")
    job.start()
    lock.release()
    job.join(timeout=10)

    assert problems == []
    assert journal.read_text() == "begin\nnext\n"
