# SPDX-License-Identifier: Apache-2.0
"""Waiting for the result of something that a handler's thread does."""

import threading

import pytest

from kazoo.handlers.threading import SequentialThreadingHandler


@pytest.fixture
def handler():
    return SequentialThreadingHandler()


def test_wait_returns_once_the_value_is_set(handler):
    result = handler.async_result()
    answers = []

    waiter = threading.Thread(target=lambda: answers.append(result.wait()), daemon=True)
    waiter.start()
    handler.spawn(result.set, "node created")
    waiter.join(timeout=3)

    assert not waiter.is_alive(), "wait() is still blocked after set()"
    assert answers == [True]
    assert result.get_nowait() == "node created"
