# SPDX-License-Identifier: Apache-2.0
"""The benchmark kernels compute the same with and without probes; nothing here is timed."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import figures, hunting, imports  # noqa: E402
from benchmarks.controlled import CASES as CONTROLLED  # noqa: E402
from benchmarks.subject import Pair, SubjectError, pair  # noqa: E402
from benchmarks.tracking import CASES as TRACKING  # noqa: E402

from unsnarl.runfile import read_run  # noqa: E402

SIZES = {"operating_system": 60, "constraints": 1, "large_heap": 20, "pipeline": 40}
KERNELS = sorted({case.kernel for case in (*TRACKING, *CONTROLLED)})
THREADS = {case.kernel: case.threads for case in (*TRACKING, *CONTROLLED)}


@pytest.fixture(scope="module")
def both() -> Iterator[Pair]:
    with pair() as workers:
        yield workers


# Kernels that touch nothing which another thread could see.
PRIVATE = ("locals_only", "handlers")


@pytest.mark.parametrize("switch", ["gil", "free"])
@pytest.mark.parametrize("strategy", ["free", "pct", "walk"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_probes_change_no_result(both: Pair, kernel: str, strategy: str, switch: str) -> None:
    size, threads = SIZES.get(kernel, 300), THREADS[kernel]
    plain = both.run_plain(kernel, size, threads)
    probed = both.run_probed(kernel, size, threads, {"strategy": strategy, "switch": switch})
    assert plain["result"] == probed["result"]


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_probes_are_there(both: Pair, kernel: str) -> None:
    size, threads = SIZES.get(kernel, 300), max(2, THREADS[kernel])
    both.run_probed(kernel, size, threads, {"strategy": "walk"})
    run = read_run(both.run_file)
    assert len(run.threads) == threads + 1
    assert all(thread.controlled for thread in run.threads)
    seen = int(run.counts["count"].sum())
    assert seen < size if kernel in PRIVATE else seen > size * threads


def test_a_kernel_that_fails_is_said(both: Pair) -> None:
    with pytest.raises(SubjectError, match="TypeError"):
        both.run_plain("attributes", None, 1)  # type: ignore[arg-type]
    assert both.run_plain("attributes", 1, 1)["result"] == 5  # and the worker lives on


def test_the_module_of_a_thousand_lines() -> None:
    text = imports.thousand_lines()
    assert text.count("\n") == imports.LINES
    compile(text, "thousand.py", "exec")


def test_all_bugs_of_the_zoo_are_hunted() -> None:
    folders = {path.name for path in hunting.ZOO.iterdir() if path.is_dir()}
    assert {bug.name for bug in hunting.bugs()} == folders


def test_bars() -> None:
    within = figures.median("a", [1.0, 1.5, 9.0], bar=1.5)
    assert (within.value, within.low, within.high, within.passes) == (1.5, 1.0, 9.0, True)
    assert not figures.median("b", [1.6], bar=1.5).passes
    assert figures.median("c", [150.0], bar=150, at_least=True).passes
    assert not figures.median("d", [149.0], bar=150, at_least=True).passes
    lines = figures.table([within]).splitlines()
    assert lines[-1].split() == ["a", "1.50", "x", "1..9", "<=", "1.50", "PASS"]
