# SPDX-License-Identifier: Apache-2.0
"""The first calls of a checked function come from two threads at once."""

import threading

import pytest
from typeguard import typechecked


@pytest.fixture
def repeat():
    @typechecked
    def repeat(text: str, times: int) -> str:
        return text * times

    return repeat


def test_wrong_arguments_are_refused_in_every_thread(repeat):
    barrier = threading.Barrier(2)
    refused, accepted = [], []

    def call():
        barrier.wait(timeout=5)
        try:
            accepted.append(repeat(3, 4))
        except TypeError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=call) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)

    assert accepted == []
    assert len(refused) == 2
    assert all("text" in message for message in refused)
