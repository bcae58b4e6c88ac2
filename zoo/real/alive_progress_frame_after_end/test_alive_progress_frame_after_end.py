# SPDX-License-Identifier: Apache-2.0
"""A bar that is over at once leaves its last line on the screen, and nothing behind it."""

import threading
import time

import pytest
from alive_progress import alive_bar


@pytest.fixture
def started():
    """The threads that the test has started, joined."""
    before = set(threading.enumerate())

    def join():
        for thread in set(threading.enumerate()) - before:
            thread.join(timeout=5)

    return join


def test_short_bar_ends_with_its_receipt(capfd, started):
    with alive_bar(2, title="index", length=10, force_tty=True) as bar:
        for _ in range(2):
            time.sleep(0.02)
            bar()
    started()

    screen = capfd.readouterr().out
    assert "2/2 [100%]" in screen
    assert screen.endswith("\n"), "a frame of the spinner comes after the end: %r" % screen
