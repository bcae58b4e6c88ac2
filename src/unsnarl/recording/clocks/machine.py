# SPDX-License-Identifier: Apache-2.0
"""What the kernel says of this machine's counters: may stamps of them be compared at all?"""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path

import msgspec

CPUINFO = "proc/cpuinfo"
BOOT = "proc/sys/kernel/random/boot_id"
CHIP = "sys/devices/system/cpu/cpu{}/topology/physical_package_id"
CLOCKSOURCES = "sys/devices/system/clocksource/clocksource0/available_clocksource"
# x86-64: the same speed at all times, also in sleep states; and an instruction that names the core.
NEEDED = {
    "constant_tsc": "it changes its speed with the processor's",
    "nonstop_tsc": "it stops in deep sleep states",
    "rdtscp": "there is no instruction that reads counter and core together",
}


class Machine(msgspec.Struct, frozen=True):
    """The facts, as read from /proc and /sys.

    Attributes:
        architecture: As in `uname -m`.
        flags: Of the first processor in /proc/cpuinfo.
        clocksources: What the kernel itself could take the time from.
        boot: Its id of this start of the machine.
        suspended: Seconds that the machine has slept since.
        cores: Those that this process may use.
        chips: The chip that each of them is on, as far as it is known.
    """

    architecture: str
    flags: frozenset[str]
    clocksources: tuple[str, ...]
    boot: str
    suspended: float
    cores: tuple[int, ...]
    chips: tuple[int, ...] = ()

    @property
    def virtual(self) -> bool:
        """Is it a virtual machine?"""
        return "hypervisor" in self.flags

    def triggers(self, first: int, second: int) -> tuple[int, ...]:
        """Where figure 6's third thread is to be: a core that is near the first, one that is near
        the second, or one for both if they are on one chip (III.B.2)."""
        others = [core for core in self.cores if core not in (first, second)]
        chip = dict(zip(self.cores, self.chips, strict=False))
        near = [
            min(others, key=lambda core: chip.get(core) != chip.get(worker), default=None)
            for worker in (first, second)
        ]
        return tuple(core for core in dict.fromkeys(near) if core is not None)

    def refusal(self) -> str:
        """Why the counters cannot be used; empty if they can."""
        if self.architecture == "x86_64":
            return self._x86_refusal()
        if "arch_sys_counter" not in self.clocksources:
            return "the kernel does not offer arch_sys_counter, the counter that all cores share"
        return ""

    def _x86_refusal(self) -> str:
        for flag, meaning in NEEDED.items():
            if flag not in self.flags:
                return f"/proc/cpuinfo has no flag {flag}: {meaning}"
        if "tsc" not in self.clocksources:
            return "the kernel does not trust it: tsc is not among its clock sources"
        return ""


def read(root: Path = Path("/")) -> Machine:
    """The machine as its /proc and /sys, below `root`, describe it."""
    cores = tuple(sorted(os.sched_getaffinity(0)))
    return Machine(
        architecture=platform.machine(),
        flags=_flags(_text(root / CPUINFO)),
        clocksources=tuple(_text(root / CLOCKSOURCES).split()),
        boot=_text(root / BOOT).strip(),
        suspended=max(0.0, round(_suspended(), 1)),
        cores=cores,
        chips=tuple(_chip(root, core) for core in cores),
    )


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _chip(root: Path, core: int) -> int:
    number = _text(root / CHIP.format(core)).strip()
    return int(number) if number.isdecimal() else 0


def _flags(cpuinfo: str) -> frozenset[str]:
    for line in cpuinfo.splitlines():
        name, _, words = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return frozenset(words.split())
    return frozenset()


def _suspended() -> float:
    """CLOCK_MONOTONIC stands still while the machine sleeps, CLOCK_BOOTTIME does not."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)
