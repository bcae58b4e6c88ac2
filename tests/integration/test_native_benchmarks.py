# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of native programs: all builds compute the same, and the tracked one is tracked.

Nothing here is timed.
"""

import shutil
from collections.abc import Iterator

import pytest
from benchmarks import fast_path, native, switching
from benchmarks.programs import FREE, SOURCES, Build, Workshop, has_bzip2, workshop
from benchmarks.subject import SubjectError

from unsnarl.runfile import read_run

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")

TINY = {
    "options": 300,
    "hash_table": 3000,
    "pipeline": 40_000,
    "clusters": 40,
    "lu": 8000,
    "migrating_lu": 8000,
    "compressor": 250_000,
    "counter": 600,
    "swaps": 2000,
    "bzip2": 250_000,
}
ALONE = ("options",)  # its threads share nothing


@pytest.fixture(scope="module")
def shop() -> Iterator[Workshop]:
    with workshop() as made:
        yield made


@pytest.fixture(scope="module")
def ways(shop: Workshop) -> dict[str, native.Way]:
    tracked = shop.kernels(Build("tracked", "gcc"))
    return {
        "plain gcc": native.Way(shop.kernels(Build("plain", "gcc"))),
        "tracked gcc": native.Way(tracked, FREE),
        "idle gcc": native.Way(tracked),
        "Base": native.Way(tracked, FREE | native.RECON["Base"]),
        "gated": native.Way(tracked, {"strategy": "pct", "seed": 3}),
    }


@pytest.mark.parametrize("kernel", native.SIZES)
def test_all_builds_compute_the_same(ways, kernel):
    if kernel == "bzip2" and not has_bzip2():
        pytest.skip("there is no bzlib.h")
    for threads in (1, 3):
        found = native.compared(ways, 1, kernel, TINY[kernel], threads)
        assert found["plain gcc"][0]["checksum"] > 0
        assert found["plain gcc"][0]["touched"] == found["tracked gcc"][0]["touched"]


@pytest.mark.parametrize("kernel", native.NINE)
def test_tracked_runs_are_tracked(ways, kernel):
    way = ways["tracked gcc"]
    way.program.measure(kernel, TINY[kernel], 3, plan=way.plan)
    run = read_run(way.program.run_file)
    assert len(run.threads) == 4
    edges = run.edges
    between = ~(edges["source_thread"] == 0) & ~(edges["sink_thread"] == 0)
    assert bool(between.any()) == (kernel not in ALONE)


def test_a_different_checksum_is_said(ways):
    class Wrong:
        def measure(self, *arguments, plan=None):
            return {"checksum": 7}

    with pytest.raises(SubjectError, match="checksums differ"):
        native.compared(ways | {"wrong": native.Way(Wrong())}, 1, "counter", 30, 3)


def test_a_program_that_fails_is_said(ways):
    with pytest.raises(SubjectError, match="exits with 2: usage"):
        ways["plain gcc"].program.measure("nosuch", 1, 1)
    with pytest.raises(SubjectError, match="exits with 2: usage"):
        ways["plain gcc"].program.measure("counter", 1, 65)


def test_every_step_of_the_switching_program_can_switch(shop):
    program = shop.program(Build("tracked", "gcc"), "switches", [SOURCES / "switches.c"])
    rates = switching._rates(program, "shared", 400)
    assert min(rates) > 0
    run = read_run(program.run_file)
    # A read and a write for each step; of four threads, three times in four another is chosen.
    assert 500 < run.counters["switches"] <= 900


def test_fast_path_has_both_figures_of_all_three():
    names = [figure.name for figure in fast_path.figures(quick=True)]
    assert len(names) == len(set(names)) == 8


def samples(**cpu):
    """One cell per kernel; by way its CPU seconds."""
    made = native.Samples()
    for kernel in native.SIZES:
        made.found[(kernel, 4)] = {
            way.replace("_", " "): [{"cpu": seconds, "touched": 2**20, "resident_kb": 6144}]
            for way, seconds in cpu.items()
        }
    return made


def test_figures_of_made_up_samples():
    made = samples(
        plain_gcc=1.0, tracked_gcc=3.0, idle_gcc=1.5, sanitized_gcc=10.0,
        plain_clang=1.0, tracked_clang=4.0, sanitized_clang=5.0,
    )  # fmt: skip
    made.found[("lu", 4)]["tracked clang"][0]["cpu"] = 6.5
    found = {figure.name: figure for figure in native._means(made)}
    assert found["native: slowdown, nine kernels"].value == pytest.approx(3.0)
    assert found["native: slowdown, nine kernels"].passes
    found = {figure.name: figure for figure in native._against_sanitizers(made)}
    assert found["native: of gcc's TSan"].value == pytest.approx(0.3)
    assert not found["native: of clang's TSan"].passes
    assert not found["native: of clang's TSan at worst (lu, 4 threads)"].passes
    strict, wide = native._memory(made)
    assert strict.value == pytest.approx(6144 / 8192)
    assert wide.value == pytest.approx(6144 / (4 * 6144 + 4096))
    assert strict.passes
