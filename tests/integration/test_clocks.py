# SPDX-License-Identifier: Apache-2.0
"""The command `unsnarl clocks` in its own process, and the native loops on real cores."""

import contextlib
import os
import platform
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from unsnarl.errors import ToolError
from unsnarl.recording.clocks import Clocks, machine
from unsnarl.recording.clocks.measure import How, measure
from unsnarl.recording.clocks.observed import PROGRAMS, Reading, Test, gaps, observe, ping_pong

# Two threads that wait for each other by the million want both cores at once.
pytestmark = pytest.mark.alone

CORES = tuple(sorted(os.sched_getaffinity(0)))[:2]
QUICK = ("--runs", "2000", "--patience", "0")
MOST_CALLS = 4  # about one in 80 finds a skew that jumps
FLAGS = "flags : tsc constant_tsc rdtscp"


@pytest.fixture
def clocks(tmp_path):
    """Call the command with a cache of its own.

    A host that moves its virtual cores while they are measured makes the skew jump: one window was
    -24 to 153 ticks, another -140 to 6. The command then refuses, rightly; that is not what is
    tested here, so it is called once more.
    """

    def call(*arguments, cache=tmp_path / "cache", **options):
        command = [sys.executable, "-m", "unsnarl", "clocks", *QUICK, *arguments]
        options |= {"env": os.environ | {"XDG_CACHE_HOME": str(cache)}, "timeout": 120}
        for _ in range(MOST_CALLS):
            answer = subprocess.run(command, capture_output=True, text=True, check=False, **options)
            if "[clocks-drift]" not in answer.stderr:
                break
        return answer

    return call


def measured() -> Clocks:
    """As the command measures them; see `clocks` for why more than once."""
    for _ in range(MOST_CALLS - 1):
        with contextlib.suppress(ToolError):
            return measure(machine.read(), How(runs=2000, patience=0))
    return measure(machine.read(), How(runs=2000, patience=0))


def kept(folder: Path) -> list[Path]:
    return [*(folder / "cache" / "unsnarl" / "clocks").glob("*")]


def decoded(answer) -> Clocks:
    assert answer.returncode == 0, answer.stderr
    return msgspec.json.decode(answer.stdout, type=Clocks)


def test_the_answer_comes_first_then_the_papers_tables(clocks, tmp_path):
    answer = clocks()
    assert answer.returncode == 0, answer.stderr
    lines = answer.stdout.splitlines()
    assert "certain" in lines[3]
    rows = [line.split()[:2] for line in lines]
    # A row of table IV; or, where the host took a core away, a sentence below why there is none.
    for letter in "abcd":
        assert ["fig.", f"5({letter})"] in rows, answer.stdout
    assert any(line.split()[:1] == ["0.99999"] for line in lines)
    assert len(kept(tmp_path)) == 1


def test_clocks_are_measured_once_per_boot(clocks, tmp_path):
    first = decoded(clocks("--json"))
    assert decoded(clocks("--json")) == first
    assert first.boot == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert "kept from" in clocks().stdout


def test_again_measures_and_never_widens(clocks):
    first = decoded(clocks("--json"))
    second = decoded(clocks("--json", "--again"))
    assert second.measured > first.measured
    contradicted = any("contradicts" in note for note in second.notes)
    assert second.windows > first.windows or contradicted
    assert second.widest <= first.widest or contradicted


def test_json_goes_to_a_file(clocks, tmp_path):
    answer = clocks("--json", str(tmp_path / "clocks.json"))
    assert (answer.returncode, answer.stdout) == (0, "")
    found = msgspec.json.decode((tmp_path / "clocks.json").read_bytes(), type=Clocks)
    assert found.range(*CORES).width > 0


def fake_root(folder: Path) -> Path:
    """A machine whose counter stops in deep sleep."""
    for name, text in ((machine.CPUINFO, FLAGS), (machine.BOOT, "abcdef00-1111")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text + "\n")
    return folder


def test_a_counter_that_stops_is_refused_for_the_kernels_clock(clocks, tmp_path):
    answer = clocks("--json", "--root", str(fake_root(tmp_path / "root")))
    found = decoded(answer)
    assert found.source == "kernel"
    assert (
        "nonstop_tsc" if platform.machine() == "x86_64" else "arch_sys_counter"
    ) in found.refused
    assert "[counter-not-invariant]" in answer.stderr
    assert "clock_gettime" in answer.stderr
    assert [path.name for path in kept(tmp_path)] == ["abcdef00-1111.json"]


def test_one_core_is_told_in_words(clocks):
    answer = clocks(preexec_fn=lambda: os.sched_setaffinity(0, {CORES[0]}))
    assert answer.returncode == 3
    assert "[one-core]" in answer.stderr
    assert "taskset" in answer.stderr


@pytest.mark.parametrize("content", ["", "{}", "no json"])
def test_a_damaged_file_is_told_and_replaced(clocks, tmp_path, content):
    clocks()
    kept(tmp_path)[0].write_text(content)
    answer = clocks("--json")
    assert "[clocks-damaged]" in answer.stderr
    assert kept(tmp_path)[0].name in answer.stderr
    assert msgspec.json.decode(kept(tmp_path)[0].read_bytes(), type=Clocks) == decoded(answer)


def test_a_cache_that_cannot_be_written_is_no_reason_to_fail(clocks, tmp_path):
    (tmp_path / "file").write_text("")
    answer = clocks("--json", cache=tmp_path / "file")
    assert decoded(answer).ranges
    assert "[clocks-not-kept]" in answer.stderr


def test_threads_need_not_be_bound(clocks):
    """The stamps say where they ran; the kernel may have kept them on one core."""
    answer = clocks("--no-pin", "--json")
    if answer.returncode == 4:
        assert "[clocks-unseen]" in answer.stderr
        assert "--pin" in answer.stderr
    else:
        assert not decoded(answer).pinned


@pytest.mark.parametrize("arguments", [("--runs", "5"), ("--patience", "-1"), ("--runs", "many")])
def test_wrong_values_are_wrong_usage(clocks, arguments):
    assert clocks(*arguments).returncode == 2


@pytest.mark.parametrize("test", PROGRAMS)
@pytest.mark.parametrize("kernel", [False, True])
def test_every_test_shows_both_directions(test, kernel):
    reading = Reading.KERNEL if kernel else Reading.FULL
    found = gaps(observe(test, reading, CORES, 20_000, 60.0))
    assert set(found) == {CORES, CORES[::-1]}
    assert sum(found.values()) >= 0


def test_a_loop_ends_when_its_time_is_up():
    assert len(observe(Test.EXCHANGE, Reading.DRAINED, CORES, 1 << 24, 0.2)) < 1 << 24


def test_two_threads_on_one_core_do_not_hang():
    observe(Test.PING_PONG, Reading.FULL, (CORES[0], CORES[0]), 1_000_000, 0.3)


def test_a_core_that_may_not_be_used_is_an_error():
    with pytest.raises(OSError, match="Invalid argument"):
        observe(Test.EXCHANGE, Reading.FULL, (CORES[0], 1023), 10)
    with pytest.raises(OSError, match="Invalid argument"):
        observe(Test.EXCHANGE, Reading.FULL, (CORES[0], 1_000_000), 10)


@pytest.mark.parametrize(
    "arguments", [(9, 0, CORES, 1, 1.0), (0, 9, CORES, 1, 1.0), (0, 0, CORES, 1 << 40, 1.0)]
)
def test_nonsense_is_refused_by_the_native_core(arguments):
    from unsnarl import _core

    with pytest.raises(ValueError):
        _core.clock_calibrate(*arguments)


def test_figure_6_gives_one_pair_of_stamps_for_every_run():
    """Three threads on two cores take long, but they get there."""
    stamps = observe(Test.TRIGGER, Reading.DRAINED, (*CORES, CORES[0]), 5, 60.0)
    assert len(stamps) == 5
    assert {*stamps["first_core"]} == {CORES[0]}
    assert {*stamps["second_core"]} == {CORES[1]}


def test_measuring_leaves_the_callers_affinity_alone():
    before = os.sched_getaffinity(0)
    observe(Test.EXCHANGE, Reading.FULL, CORES, 10)
    assert os.sched_getaffinity(0) == before


def test_no_message_arrives_before_it_was_sent():
    """The bar, at a fiftieth: benchmarks/clocks.py sends 10 million."""
    known = measured()
    stamps = ping_pong(Reading.FULL, CORES, 100_000)
    for first, second in (CORES, CORES[::-1]):
        mine = stamps[stamps["first_core"] == first]
        assert not known.range(second, first).before(mine["second"], mine["first"]).any()


def test_no_write_is_put_before_a_read_that_did_not_see_it():
    """Figure 2(b), with the fences of figure 2(c); cheaper reads fail this now and then."""
    known = measured()
    for writer, reader in (CORES, CORES[::-1]):
        stamps = observe(Test.UNSEEN, Reading.FULL, (writer, reader), 50_000, 60.0)
        assert len(stamps)
        assert {*stamps["first_core"]} == {reader}
        assert not known.range(writer, reader).before(stamps["second"], stamps["first"]).any()
