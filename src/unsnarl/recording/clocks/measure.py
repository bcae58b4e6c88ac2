# SPDX-License-Identifier: Apache-2.0
"""Measure the clocks of this machine: all tests, on pairs of cores, in several windows.

All observations of a pair are intersected (equation 3), whatever test they come from. In a virtual
machine the host moves the cores about: in some windows they are far apart and messages take twice
as long, so it is worth while to go on until a window has found them near each other.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

import msgspec

from unsnarl import _core
from unsnarl.errors import EXIT_INCONCLUSIVE, ToolError, UnsnarlError
from unsnarl.recording.clocks.estimates import estimates
from unsnarl.recording.clocks.machine import Machine
from unsnarl.recording.clocks.observed import PROGRAMS, Observed, Reading, Test, reading_for
from unsnarl.recording.clocks.ranges import (
    Clocks,
    Source,
    hard_ranges,
    hull,
    intersection,
)

RUNS = 10_000  # the paper's, table IV
WINDOWS = 5
PATIENCE = 120.0  # seconds; the longest that cores were seen to stay far apart was 90
NARROW = 110e-9  # seconds: a range as narrow as this is not worth waiting for a better one
FEW_CORES = 8  # up to so many, every pair is measured
VIRTUAL_RUNS = 500  # of figure 5(b), whose CPUID leaves a virtual machine every time


@dataclass(frozen=True)
class How:
    """How to measure.

    Attributes:
        runs: Of each test in each window.
        windows: How often all tests are done, at least.
        patience: Seconds to go on for a narrower range where cores are moved about.
        pinned: Bind the threads to the cores measured.
        all_pairs: Measure every pair also where there are many cores.
    """

    runs: int = RUNS
    windows: int = WINDOWS
    patience: float = PATIENCE
    pinned: bool = True
    all_pairs: bool = False


def measure(
    machine: Machine,
    how: How,
    earlier: Clocks | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Clocks:
    """The ranges of all pairs of the machine's cores, of the counter or of the kernel's clock.

    What was measured `earlier`, since the same start of the machine, still holds, unless it
    contradicts what is seen now.

    Raises:
        UnsnarlError: There is but one core, or one that may not be used; clocks drift; the machine
            is too busy.
    """
    if len(machine.cores) < 2:
        raise _one_core()
    source: Source = "kernel" if machine.refusal() else "counter"
    pace = Pace(source)
    grain, margin = steps(source)
    # Estimates use messages only where figure 6 cannot be done; else they would only fill memory.
    observed = Observed(messages=not (how.pinned and len(machine.cores) > 2))
    for number in _windows(machine, how, observed, margin, pace):
        progress(number)
        try:
            window(machine, how, source, observed)
        except OSError as error:
            raise _not_bound(error) from None
    _all_pairs(machine, how, observed)
    clocks = Clocks(
        boot=machine.boot,
        suspended=machine.suspended,
        source=source,
        refused=machine.refusal(),
        frequency=pace.hertz(),
        grain=grain,
        margin=margin,
        pinned=how.pinned,
        virtual=machine.virtual,
        windows=len(observed.windows),
        measured=time.time(),
        ranges=hard_ranges(observed.gaps(), margin),
        middles=tuple(observed.middles()),
        tests=tuple(observed.tests()),
        estimates=tuple(estimates(pairs(machine, how), machine, how.pinned, source, observed)),
        notes=(*_sums(machine, how), *observed.without_range()),
    )
    # Checked alone first: `narrowed` takes any drift for a contradiction with what was stored.
    return narrowed(clocks.checked(), earlier)


def pairs(machine: Machine, how: How) -> list[tuple[int, int]]:
    """Those to be measured: all, or of many cores those with the first, the middle or the last.

    Skews add up, so the ranges of two cores to a third bound their own (`hard_ranges`), which is
    sound and about twice as wide. Of 64 cores 186 pairs are measured then, not 2016.
    """
    found = [*combinations(machine.cores, 2)]
    # All of them would be 14 minutes and 5 GB of stamps (docs/adr/0019).
    if how.all_pairs or len(machine.cores) <= FEW_CORES:
        return found
    return [pair for pair in found if _references(machine) & {*pair}]


def _references(machine: Machine) -> set[int]:
    cores = machine.cores
    return {cores[0], cores[len(cores) // 2], cores[-1]}


def _sums(machine: Machine, how: How) -> Iterator[str]:
    if len(pairs(machine, how)) < len([*combinations(machine.cores, 2)]):
        names = ", ".join(map(str, sorted(_references(machine))))
        yield (
            f"only pairs with one of the cores {names} were measured; the ranges of the others are "
            "sums of theirs, certain as well, but wider (--all-pairs)"
        )


class Pace:
    """How fast a clock runs, from its beginning until now."""

    def __init__(self, source: Source) -> None:
        self._reading = Reading.KERNEL if source == "kernel" else Reading.DRAINED
        self._begin = self._both()

    def _both(self) -> tuple[int, int]:
        return _core.clock_now(self._reading)[0], _core.clock_now(Reading.KERNEL)[0]

    def hertz(self) -> float:
        """Ticks per second, on the kernel's word for a second."""
        ticks, nanoseconds = self._both()
        return (ticks - self._begin[0]) / max(nanoseconds - self._begin[1], 1) * 1e9


def steps(source: Source) -> tuple[int, int]:
    """The clock's smallest step, and the margin that it makes necessary.

    Two counters that step by 26 may do so at different moments, so their difference is not one
    number but two, 26 apart; and cores that a host moves change between them. One step on each side
    covers this, if a message takes longer than a step. It does if two reads in a row do, which have
    the same instructions around them and no way to go; otherwise two steps are needed (adr 0019).
    """
    reading = Reading.KERNEL if source == "kernel" else Reading.DRAINED
    grain, closest = _core.clock_steps(reading)
    return grain, grain if closest >= 2 * grain else 2 * grain


def window(machine: Machine, how: How, source: Source, observed: Observed) -> None:
    """All tests once, on the pairs to be measured; close together in time."""
    first = not observed.windows
    observed.begin_window()
    for pair in pairs(machine, how):
        for test in PROGRAMS:
            runs = how.runs
            # 47,000 cycles each, for a range that is dropped (docs/internals/clocks.md).
            if test is Test.SERIALISE and machine.virtual:
                runs = min(runs, VIRTUAL_RUNS) if first else 0
            if runs:
                cores = pair if how.pinned else None
                observed.add(test, reading_for(test, source), cores, runs)


def _windows(
    machine: Machine, how: How, observed: Observed, margin: int, pace: Pace
) -> Iterator[int]:
    """Numbers of windows: as many as wanted, and more while it may help."""
    begin = time.monotonic()
    yield from range(how.windows)
    while machine.virtual and time.monotonic() - begin < how.patience:
        if _widest(observed, margin, pairs(machine, how)) <= NARROW * pace.hertz():
            return
        time.sleep(0.5)  # the host needs time to move anything
        yield len(observed.windows)


def _widest(observed: Observed, margin: int, measured: list[tuple[int, int]]) -> float:
    """Of the pairs that were measured themselves: sums are wider, however long one waits."""
    wanted = {*measured}
    widths = {(r.first, r.second): r.width for r in hard_ranges(observed.gaps(), margin)}
    return max((width for pair, width in widths.items() if pair in wanted), default=math.inf)


def narrowed(clocks: Clocks, earlier: Clocks | None) -> Clocks:
    """With what was known before: the skew is constant, so both hold."""
    # Ticks of another clock mean nothing here, and a smaller margin would undo the one needed now.
    if earlier is None or (earlier.source, earlier.margin) != (clocks.source, clocks.margin):
        return clocks
    try:
        return msgspec.structs.replace(
            clocks,
            ranges=intersection(clocks.ranges, earlier.ranges),
            middles=hull(clocks.middles, earlier.middles),
            windows=clocks.windows + earlier.windows,
        ).checked()
    except ToolError:
        note = "what was kept of this boot contradicts what was seen now, and was dropped"
        return msgspec.structs.replace(clocks, notes=(*clocks.notes, note))


def _all_pairs(machine: Machine, how: How, observed: Observed) -> None:
    """Complain if some pair of cores never met."""
    met = {(found.first, found.second) for found in hard_ranges(observed.gaps())}
    missing = [pair for pair in combinations(machine.cores, 2) if pair not in met]
    if missing:
        names = ", ".join(f"{first} and {second}" for first, second in missing[:5])
        raise UnsnarlError(
            "clocks-unseen",
            f"no messages passed both ways between cores {names}"
            + (f" and {len(missing) - 5} other pairs" if len(missing) > 5 else ""),
            "try again when the machine is less busy" + ("" if how.pinned else ", or with --pin"),
            EXIT_INCONCLUSIVE,
        )


def _not_bound(error: OSError) -> ToolError:
    return ToolError(
        "clocks-not-bound",
        f"the measuring threads cannot run on the cores that they were given: {error.strerror}",
        "if cores come and go here, or there are more than 1024, leave it to the kernel: --no-pin",
    )


def _one_core() -> ToolError:
    return ToolError(
        "one-core",
        "this process may use one core only, so there are no two clocks to compare",
        "allow more (taskset, docker --cpuset-cpus); programs confined to one core need no clocks: "
        "record them with --order global",
    )
