# SPDX-License-Identifier: Apache-2.0
"""Dispatch from a pool of threads, with nothing cached yet."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from multimethod import multimethod


@pytest.fixture
def describe():
    @multimethod
    def describe(value: int, unit: str):
        return "integer"

    @multimethod
    def describe(value: float, unit: str):
        return "float"

    @multimethod
    def describe(value: list, unit: object):
        return "list"

    @multimethod
    def describe(value: object, unit: object):
        return "something"

    return describe


def test_concurrent_first_calls(describe):
    values = [(True, "m"), (2.5, "s"), ([], "kg")]
    with ThreadPoolExecutor(max_workers=len(values)) as pool:
        kinds = list(pool.map(lambda pair: describe(*pair), values))
    assert kinds == ["integer", "float", "list"]
