# SPDX-License-Identifier: Apache-2.0
"""The zoo, and its hunts: a draw is made once for all tests of this folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest import mock

import msgspec
import pytest
from evaluation.draws import ZOO, copy_of
from evaluation.truth import Bug, load_zoo
from tests.integration.in_process import called
from tests.sharing import Shared

from unsnarl.model.report import Report

SEED = 1
TWIN_RUNS = 100  # 60 of them under the interpreter's lock

Hunt = Callable[[Bug], Report]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "bug" in metafunc.fixturenames:
        metafunc.parametrize("bug", load_zoo(ZOO), ids=lambda bug: bug.name)


@pytest.fixture(scope="session")
def drawn(shared: Shared) -> Hunt:
    """One draw of every bug. A hunt repeats exactly only if its runs come one after the other."""

    def draw(bug: Bug) -> Report:
        options = ("--seed", str(SEED), "--switch", bug.switch, "--jobs", "1")
        answer = shared.data(f"draw-{bug.name}", lambda: hunt(bug, bug.command, *options))
        return msgspec.json.decode(answer, type=Report)

    return draw


def hunt(bug: Bug, command: Sequence[str], *options: str) -> bytes:
    """The answer of a hunt without experiments: they would put the ranking right afterwards."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    with copy_of(Path(bug.folder)) as folder, mock.patch.dict(os.environ, PATH=path):
        words = ("hunt", "--json=answer.json", "--no-confirm", *options, "--", *command)
        done = called(folder, *words)
        answer = folder / "answer.json"
        assert answer.exists(), done.stdout + done.stderr
        return answer.read_bytes()


def twin(bug: Bug) -> Report:
    """A hunt of the repaired program, in both modes of switching."""
    options = ("--switch", "auto", "--max-runs", str(TWIN_RUNS), "--jobs", "1")
    return msgspec.json.decode(hunt(bug, bug.fixed, *options), type=Report)
