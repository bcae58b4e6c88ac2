# SPDX-License-Identifier: Apache-2.0
"""Tests that run in threads share a strategy, and begin at the same time."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from hypothesis import strategies as st

limits = itertools.count(100)  # strategies with the same arguments are cached


@pytest.fixture
def quantities():
    return st.integers(min_value=0, max_value=next(limits))


def validate_in_threads(*strategies):
    gate = Barrier(len(strategies))

    def validate(strategy):
        gate.wait()
        strategy.validate()

    with ThreadPoolExecutor(len(strategies)) as pool:
        for future in [pool.submit(validate, strategy) for strategy in strategies]:
            future.result()


def test_a_strategy_alone_and_as_a_part(quantities):
    validate_in_threads(quantities, st.lists(quantities))
