# SPDX-License-Identifier: Apache-2.0
"""Tests that run in threads share a strategy, and begin at the same time."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from hypothesis import strategies as st


def validate_in_threads(*strategies):
    gate = Barrier(len(strategies))

    def validate(strategy):
        gate.wait()
        strategy.validate()

    with ThreadPoolExecutor(len(strategies)) as pool:
        for future in [pool.submit(validate, strategy) for strategy in strategies]:
            future.result()


def test_a_strategy_alone_and_as_a_part():
    words = st.text(alphabet=["a", "b", "c"], max_size=5)
    validate_in_threads(words, st.lists(words))
