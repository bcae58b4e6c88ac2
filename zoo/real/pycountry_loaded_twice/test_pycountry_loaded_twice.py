# SPDX-License-Identifier: Apache-2.0
"""A database of currencies is loaded when the threads of a server first need it."""

import os
from concurrent.futures import ThreadPoolExecutor

import pycountry
import pytest

CODES = ["EUR", "CHF", "ISK"]


@pytest.fixture
def currencies():
    return pycountry.Currencies(os.path.join(pycountry.DATABASE_DIR, "iso4217.json"))


def test_first_use_in_threads(currencies):
    with ThreadPoolExecutor(max_workers=len(CODES)) as pool:
        jobs = [pool.submit(currencies.get, alpha_3=code) for code in CODES]
        names = [job.result(timeout=10).name for job in jobs]

    assert names == ["Euro", "Swiss Franc", "Iceland Krona"]
    codes = [currency.alpha_3 for currency in currencies]
    assert len(codes) == len(set(codes))
