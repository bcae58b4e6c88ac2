# SPDX-License-Identifier: Apache-2.0
"""ReCBuLC's tables of clocks redone: `python -m evaluation.clocks`, which writes docs/clocks.md.

Table IV and the message tests are measured on the cores of this machine. Figure 6 needs three
cores; so that machines of two are no worse off, table V and figure 13 are done twice: on simulated
clocks, whose skew is known, and by messages between two real cores, which the same equations fit.
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from benchmarks.clocks import MESSAGES, READS, message_tests, unseen_writes

from evaluation import clock_page
from evaluation.draws import REPOSITORY
from evaluation.simulated_clocks import Trigger
from unsnarl.errors import UnsnarlError
from unsnarl.recording.clocks import Clocks, machine, statistics
from unsnarl.recording.clocks.estimates import figure_6
from unsnarl.recording.clocks.machine import Machine
from unsnarl.recording.clocks.measure import How, measure
from unsnarl.recording.clocks.observed import Reading, differences, ping_pong
from unsnarl.recording.clocks.statistics import Interval

if TYPE_CHECKING:
    from unsnarl.recording.clocks.statistics import Numbers

PAGE = REPOSITORY / "docs" / "clocks.md"
SKEW = 37.0  # of the simulated clocks
RUNS = 20_000  # of a window of figure 13
SIZES = ((20, 5), (20, 50), (100, 20), (1000, 20), (1000, 100))  # N and M of table V


class Window(NamedTuple):
    """A point of figure 13: the skew of this window alone, and of all until now."""

    seconds: float
    skew: float
    so_far: float


class Results(NamedTuple):
    """Everything that the page shows."""

    date: str
    command: str
    machine: str
    scheme: str
    tests: tuple[Clocks, Clocks]
    known: Clocks
    sent: int
    wrong: int
    right: int
    unseen: dict[str, dict[str, int]]
    simulated: dict[tuple[int, int], list[Interval]]
    real: dict[tuple[int, int], list[Interval]]
    simulated_windows: list[Window]
    windows: list[Window]


def main() -> int:
    """Measure everything and write the page."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.clocks", description=__doc__)
    parser.add_argument("--windows", type=int, default=24, help="of figure 13 (default: 24)")
    parser.add_argument("--pause", type=float, default=8.0, help="seconds between two windows")
    parser.add_argument("--messages", type=int, default=MESSAGES, help="to send (10 million)")
    parser.add_argument("--patience", type=float, default=How.patience, help="as of the command")
    parser.add_argument("--page", default=str(PAGE), help="where to write (docs/clocks.md)")
    options = parser.parse_args()
    if options.windows < 2:
        parser.error("--windows must be at least 2")
    try:
        results = evaluate(options)
    except UnsnarlError as error:
        print(f"{error} [{error.slug}]", file=sys.stderr)
        return error.exit_code
    Path(options.page).write_text(clock_page.page(results), encoding="utf-8")
    for bar in clock_page.bars(results):
        print(f"{'met' if bar.met else 'MISSED':6}  {bar.text}: {bar.part} of {bar.whole}")
    return 0


def evaluate(options: argparse.Namespace) -> Results:
    """One after the other: nothing else of ours runs meanwhile."""
    here = machine.read()
    once = How(windows=1, patience=0.0)
    tests = measure(here, once), measure(here, once)
    known = measure(here, How(patience=options.patience))
    wrong, _ = message_tests(known, options.messages, Reading.FULL, bar=0)
    windows, *sides = _real_windows(here, options.windows, options.pause)
    simulated = statistics.split(Trigger(SKEW).differences(600_000, 1))
    return Results(
        date=time.strftime("%Y-%m-%d"),
        command=shlex.join(["python", "-m", "evaluation.clocks", *sys.argv[1:]]),
        machine=_machine(known),
        scheme="figure 6" if len(here.cores) > 2 else "messages between two cores",
        tests=tests,
        known=known,
        sent=wrong.details["sent"],
        wrong=wrong.details["wrong"],
        right=wrong.details["right"],
        unseen={
            name: unseen_writes(known, options.messages // 5, reading, None).details
            for reading, name in READS.items()
        },
        simulated=table_v(*simulated),
        real=table_v(*sides),
        simulated_windows=[*_simulated_windows(options.windows)],
        windows=windows,
    )


def _machine(known: Clocks) -> str:
    kind = "a virtual machine" if known.virtual else "no virtual machine"
    return f"{platform.machine()}, {os.cpu_count()} cores, {kind}, {known.frequency / 1e9:.2f} GHz"


def table_v(first_first: Numbers, second_first: Numbers) -> dict[tuple[int, int], list[Interval]]:
    """For every N and M the interval of each confidence coefficient."""
    found = {}
    for n, m in SIZES:
        values = statistics.samples(first_first, second_first, n, m)
        found[n, m] = [statistics.interval(values, some) for some in statistics.CONFIDENCES]
    return found


def _real_windows(here: Machine, count: int, pause: float) -> tuple[list[Window], Numbers, Numbers]:
    """Figure 13 on real cores, and all its differences, for table V."""
    begin = time.monotonic()
    windows: list[Window] = []
    sides: list[tuple[Numbers, Numbers]] = []
    for number in range(count):
        time.sleep(pause if number else 0)
        sides.append(_sides(here))
        windows.append(_window(time.monotonic() - begin, sides))
    return windows, *_joined(sides)


def _sides(here: Machine) -> tuple[Numbers, Numbers]:
    """Figure 6 where there are three cores, messages where there are two."""
    first, second = here.cores[:2]
    triggers = here.triggers(first, second)
    if triggers:
        return figure_6(first, second, triggers, "counter")
    there, back = differences(ping_pong(Reading.DRAINED, (first, second), RUNS), first, second)
    return statistics.near(there), statistics.near(back)


def _simulated_windows(count: int) -> Iterator[Window]:
    sides: list[tuple[Numbers, Numbers]] = []
    for number in range(count):
        sides.append(statistics.split(Trigger(SKEW).differences(RUNS, 100 + number)))
        yield _window(float(number), sides)


def _window(seconds: float, sides: list[tuple[Numbers, Numbers]]) -> Window:
    return Window(seconds, statistics.skew(*sides[-1]), statistics.skew(*_joined(sides)))


def _joined(sides: list[tuple[Numbers, Numbers]]) -> tuple[Numbers, Numbers]:
    return np.concatenate([one for one, _ in sides]), np.concatenate([other for _, other in sides])


if __name__ == "__main__":
    sys.exit(main())
