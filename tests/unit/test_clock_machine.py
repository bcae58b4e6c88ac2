# SPDX-License-Identifier: Apache-2.0
"""What the kernel says of the counters, and what is kept per boot."""

import os

import msgspec
import pytest

from unsnarl.recording.clocks import ClockRange, Clocks, machine, stored

GOOD = "fpu tsc constant_tsc nonstop_tsc rdtscp"


def machine_with(folder, flags=GOOD, sources="tsc acpi_pm", boot="11111111-aaaa"):
    for name, text in (
        (machine.CPUINFO, f"processor\t: 0\nmodel name\t: x\nflags\t\t: {flags}\n"),
        (machine.CLOCKSOURCES, f"{sources} \n"),
        (machine.BOOT, f"{boot}\n"),
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = machine.read(folder)
    return msgspec.structs.replace(found, architecture="x86_64", cores=(0, 1))


def clocks_of(some, *ranges):
    return Clocks(
        boot=some.boot,
        suspended=some.suspended,
        source="counter",
        frequency=2.6e9,
        grain=1,
        margin=1,
        pinned=True,
        virtual=False,
        windows=1,
        measured=0.0,
        ranges=ranges or (ClockRange(0, 1, -5, 5),),
    )


def test_an_invariant_counter_is_not_refused(tmp_path):
    assert machine_with(tmp_path).refusal() == ""


@pytest.mark.parametrize("flag", ["constant_tsc", "nonstop_tsc", "rdtscp"])
def test_a_counter_without_a_needed_flag_is_refused_by_name(tmp_path, flag):
    found = machine_with(tmp_path, GOOD.replace(flag, ""))
    assert f"no flag {flag}" in found.refusal()


def test_a_counter_that_the_kernel_has_given_up_is_refused(tmp_path):
    assert "does not trust it" in machine_with(tmp_path, sources="kvm-clock acpi_pm").refusal()


def test_the_chip_of_each_core_is_read(tmp_path):
    cores = sorted(os.sched_getaffinity(0))
    for core in cores[1:]:
        path = tmp_path / machine.CHIP.format(core)
        path.parent.mkdir(parents=True)
        path.write_text(f"{core + 3}\n")
    assert machine.read(tmp_path).chips == (0, *(core + 3 for core in cores[1:]))


def test_without_proc_the_counter_is_refused(tmp_path):
    found = msgspec.structs.replace(machine.read(tmp_path), architecture="x86_64")
    assert "constant_tsc" in found.refusal()


def test_on_arm_the_system_counter_is_needed(tmp_path):
    found = msgspec.structs.replace(machine_with(tmp_path), architecture="aarch64")
    assert "arch_sys_counter" in found.refusal()
    found = msgspec.structs.replace(found, clocksources=("arch_sys_counter",))
    assert found.refusal() == ""


def test_a_virtual_machine_is_known_by_its_flag(tmp_path):
    assert not machine_with(tmp_path).virtual
    assert machine_with(tmp_path, GOOD + " hypervisor").virtual


def test_clocks_are_kept_for_this_boot_only(tmp_path):
    here = machine_with(tmp_path / "root")
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    path = stored.keep(clocks_of(here), here, cache)
    assert path.parent == tmp_path / "cache" / "unsnarl" / "clocks"
    assert stored.load(here, cache) == clocks_of(here)
    after = machine_with(tmp_path / "root", boot="22222222-bbbb")
    assert stored.load(after, cache) is None


def test_without_xdg_the_cache_is_in_the_home(tmp_path):
    assert stored.folder({"HOME": "/h"}).as_posix() == "/h/.cache/unsnarl/clocks"
    assert stored.folder({"HOME": "/h", "XDG_CACHE_HOME": "relative"}).is_absolute()


@pytest.mark.parametrize(
    "change",
    [
        {"suspended": 500.0},  # it has slept since
        {"cores": (0, 1, 2)},  # a core that was not measured
        {"clocksources": ()},  # the counter is refused now
    ],
)
def test_what_is_kept_holds_only_while_nothing_has_changed(tmp_path, change):
    here = machine_with(tmp_path / "root")
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    stored.keep(clocks_of(here), here, cache)
    assert stored.load(msgspec.structs.replace(here, **change), cache) is None


def test_clocks_of_more_cores_than_may_be_used_now_still_hold(tmp_path):
    here = machine_with(tmp_path / "root")
    known = clocks_of(here, *(ClockRange(*p, -5, 5) for p in ((0, 1), (0, 2), (1, 2))))
    assert stored.holds(known, here)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"version": 1}'])
def test_a_damaged_file_is_named(tmp_path, content):
    here = machine_with(tmp_path / "root")
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    path = stored.keep(clocks_of(here), here, cache)
    path.write_bytes(content)
    with pytest.raises(ValueError, match=path.name):
        stored.load(here, cache)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda kept: kept["ranges"][0].update(low=9, high=-9), "no range: 9 to -9"),
        (lambda kept: kept["ranges"][0].update(high=1 << 80), "no range"),
        (lambda kept: kept.update(frequency=0.0), "no clock: 0.0 Hz"),
        (lambda kept: kept.update(margin=-5), "margin -5"),
    ],
)
def test_a_file_whose_numbers_make_no_sense_is_damaged(tmp_path, change, reason):
    here = machine_with(tmp_path / "root")
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    path = stored.keep(clocks_of(here), here, cache)
    kept = msgspec.json.decode(path.read_bytes())
    change(kept)
    path.write_bytes(msgspec.json.encode(kept))
    with pytest.raises(ValueError, match=reason):
        stored.load(here, cache)


def test_a_cache_that_cannot_be_looked_into_is_told(tmp_path):
    here = machine_with(tmp_path / "root")
    with pytest.raises(ValueError, match="name too long"):
        stored.load(here, {"XDG_CACHE_HOME": "/" + 300 * "x"})
    (tmp_path / "file").write_text("")
    assert stored.load(here, {"XDG_CACHE_HOME": str(tmp_path / "file")}) is None


@pytest.mark.parametrize("boot", ["", "../../etc/passwd", "NOT AN ID"])
def test_a_boot_without_a_usable_id_is_not_kept(tmp_path, boot):
    here = machine_with(tmp_path / "root", boot=boot)
    assert stored.keep(clocks_of(here), here, {"XDG_CACHE_HOME": str(tmp_path)}) is None
    assert stored.load(here, {"XDG_CACHE_HOME": str(tmp_path)}) is None
