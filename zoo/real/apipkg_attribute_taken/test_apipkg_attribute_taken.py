# SPDX-License-Identifier: Apache-2.0
"""The attributes of a package that is loaded lazily are there for every thread."""

import sys
from concurrent.futures import ThreadPoolExecutor

import apipkg
import pytest

IMPLEMENTATION = """
def dumps(value):
    return repr(value)
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    (tmp_path / "_lazy_codec.py").write_text(IMPLEMENTATION)
    monkeypatch.syspath_prepend(str(tmp_path))
    import _lazy_codec  # noqa: F401, the implementation is there, its names are not given out yet

    yield apipkg.ApiModule("codec", {"dumps": "_lazy_codec:dumps"})
    sys.modules.pop("_lazy_codec", None)


def test_two_threads_use_an_attribute_for_the_first_time(package):
    with ThreadPoolExecutor(max_workers=2) as pool:
        texts = list(pool.map(lambda value: package.dumps(value), [1, "a"]))
    assert texts == ["1", "'a'"]
