# SPDX-License-Identifier: Apache-2.0
"""The zoo and one draw of each of its bugs, made once for all tests of this folder."""

from __future__ import annotations

import pytest
from evaluation.draws import ZOO, Draw, draw
from evaluation.table import Row
from evaluation.truth import Bug, load_zoo

SEED = 1


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "bug" in metafunc.fixturenames:
        metafunc.parametrize("bug", load_zoo(ZOO), ids=lambda bug: bug.name)


class Draws:
    """Draws by the bug's name; each is made when it is first asked for."""

    def __init__(self) -> None:
        self._made: dict[str, Draw] = {}

    def of(self, bug: Bug) -> Draw:
        if bug.name not in self._made:
            self._made[bug.name] = draw(bug, SEED)
        return self._made[bug.name]

    def rows(self) -> list[Row]:
        return [Row(bug, (self.of(bug),)) for bug in load_zoo(ZOO)]


@pytest.fixture(scope="session")
def draws() -> Draws:
    return Draws()
