# SPDX-License-Identifier: Apache-2.0
"""A dispatch whose handlers are registered on first use, used by the threads of a pool."""

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest
from dask.utils import Dispatch


@pytest.fixture
def weight():
    weight = Dispatch("weight")
    weight.register(object, lambda thing: 1)

    @weight.register_lazy("fractions")
    def register_fractions():
        @weight.register(Fraction)
        def weight_of_fraction(number):
            return number.numerator + number.denominator

    return weight


def test_lazy_registration_in_threads(weight):
    numbers = [Fraction(3, 4), Fraction(5, 6), Fraction(1, 6)]
    with ThreadPoolExecutor(max_workers=3) as pool:
        weights = list(pool.map(weight, numbers))

    assert weights == [7, 11, 7]
