# SPDX-License-Identifier: Apache-2.0
"""The zoo, and its hunts: made once for all tests of this folder, two at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from evaluation.draws import ZOO, hunt
from evaluation.truth import Bug, load_zoo

from unsnarl.model.finding import Report

SEED = 1
HUNTS_AT_ONCE = 2
TWIN_RUNS = 50
SWITCHES = ("gil", "free")

Hunt = Callable[[Bug], Report]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "bug" in metafunc.fixturenames:
        metafunc.parametrize("bug", load_zoo(ZOO), ids=lambda bug: bug.name)


@pytest.fixture(scope="session")
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(HUNTS_AT_ONCE) as pool:
        yield pool
        pool.shutdown(cancel_futures=True)


def wanted(request: pytest.FixtureRequest, fixture: str) -> list[Bug]:
    """The bugs that the selected tests will ask a fixture for."""
    tests = [item for item in request.session.items if fixture in item.fixturenames]
    named = {item.callspec.params["bug"].name for item in tests if hasattr(item, "callspec")}
    every = any(not hasattr(item, "callspec") for item in tests)
    return [bug for bug in load_zoo(ZOO) if every or bug.name in named]


@pytest.fixture(scope="session")
def drawn(pool: ThreadPoolExecutor, request: pytest.FixtureRequest) -> Hunt:
    """One draw of every bug. A hunt repeats exactly only if its runs come one after the other."""
    hunts: dict[str, Future[Report]] = {}
    for bug in wanted(request, "drawn"):
        options = ("--seed", str(SEED), "--switch", bug.switch, "--jobs", "1")
        hunts[bug.name] = pool.submit(hunt, bug, bug.command, *options)
    return lambda bug: hunts[bug.name].result()


@pytest.fixture(scope="session")
def twins(pool: ThreadPoolExecutor, request: pytest.FixtureRequest) -> Callable[[Bug, str], Report]:
    """Hunts of every repaired program in both switching modes."""
    hunts: dict[tuple[str, str], Future[Report]] = {}
    for bug in wanted(request, "twins"):
        for switch in SWITCHES:
            options = ("--switch", switch, "--max-runs", str(TWIN_RUNS), "--jobs", "1")
            hunts[bug.name, switch] = pool.submit(hunt, bug, bug.fixed, *options)
    return lambda bug, switch: hunts[bug.name, switch].result()
