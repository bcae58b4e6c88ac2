# SPDX-License-Identifier: Apache-2.0
"""The gate in a native program: hand-overs per second, four threads, every access a switch point.

Only one thread runs at a time, so CPU time is the run's time on a machine that does nothing else;
the figures by wall time are given as well. Threads with numbers of their own show what the gate
costs, and have the bar; with one number for all, every access makes edges and some twenty patterns
as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.figures import Figure, median
from benchmarks.programs import SOURCES, Build, Program, timed, workshop
from unsnarl.runfile import read_run

BAR = 200
THREADS = 4


def figures(quick: bool) -> Iterator[Figure]:
    """Thousands of switches per second, by CPU time and by wall time."""
    rounds, steps = (3, 50_000) if quick else (7, 200_000)
    with workshop() as shop:
        program = shop.program(Build("tracked", "gcc"), "switches", [SOURCES / "switches.c"])
        for numbers in ("own", "shared"):
            rates = [_rates(program, numbers, steps) for _ in range(rounds)]
            name = f"switching: {THREADS} threads, walk, {numbers} numbers"
            cpu, wall = [one for one, _ in rates], [one for _, one in rates]
            bar = BAR if numbers == "own" else None
            yield median(f"{name}, CPU", cpu, unit="k/s", bar=bar, at_least=True)
            yield median(f"{name}, wall", wall, unit="k/s", at_least=True)


def _rates(program: Program, numbers: str, steps: int) -> tuple[float, float]:
    """Thousands in a second of CPU time, and of wall time."""
    wall, cpu = timed(program, steps, THREADS, numbers, plan={"strategy": "walk", "seed": 1})
    switches = read_run(program.run_file).counters["switches"] / 1000
    return switches / cpu, switches / wall
