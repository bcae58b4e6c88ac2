# SPDX-License-Identifier: Apache-2.0
"""The zoo and one draw of each of its bugs, made once for all tests of this folder."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from evaluation.draws import ZOO, draw
from evaluation.table import Row
from evaluation.truth import load_zoo

SEED = 1
HUNTS_AT_ONCE = 2


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "bug" in metafunc.fixturenames:
        metafunc.parametrize("bug", load_zoo(ZOO), ids=lambda bug: bug.name)


@pytest.fixture(scope="session")
def rows() -> list[Row]:
    """One draw of every bug. A hunt repeats exactly only if its runs come one after the other."""
    zoo = load_zoo(ZOO)
    with ThreadPoolExecutor(HUNTS_AT_ONCE) as pool:
        draws = pool.map(lambda bug: draw(bug, SEED, "--jobs", "1"), zoo)
        return [Row(bug, (found,)) for bug, found in zip(zoo, draws, strict=True)]
