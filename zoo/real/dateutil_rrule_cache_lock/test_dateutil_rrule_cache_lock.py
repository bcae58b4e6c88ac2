# SPDX-License-Identifier: Apache-2.0
"""A cached rule may be iterated by several threads at once."""

import datetime
import threading

import pytest
from dateutil.rrule import DAILY, rrule

START = datetime.datetime(2024, 1, 1)


@pytest.fixture
def holidays():
    return rrule(DAILY, count=25, dtstart=START, cache=True)


def in_background(function):
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    return thread


def test_two_readers_fill_one_cache(holidays):
    seen = []
    readers = [in_background(lambda: seen.append(len(list(holidays)))) for _ in range(2)]
    for reader in readers:
        reader.join(timeout=3)
    assert not any(reader.is_alive() for reader in readers), "an iterator never came to its end"
    assert seen == [25, 25]
