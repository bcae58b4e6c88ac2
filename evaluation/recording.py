# SPDX-License-Identifier: Apache-2.0
"""`python -m evaluation.recording [--rounds N]`: ReCBuLC's figures 9, 10 and 12, docs/recording.md.

Measured by benchmarks/recording.py on our kernels; the paper's programs are other ones, on a
machine with 24 cores, so shapes can be compared and seconds cannot.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import recording
from benchmarks.programs import workshop
from benchmarks.recording import IDLE, KERNELS, ORDERS, THREADS, Times, way_name

from evaluation.markdown import sections, table
from unsnarl.model.record import CLAP_LEVELS, PRES_LEVELS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "recording.md"
PAPER_LEVELS = {
    "sync": "SYNC",
    "func": "FUNC",
    "loop": "LOOP",
    "funcloop": "FUNCLOOP",
    "block": "BB",
    "access": "RW",
}
# Of the text of section V.A: mean overheads of PRES-impl and PRES-tc over native time.
PAPER_MEANS = {"func": (320.63, 133.48), "block": (1730.05, 688.34)}
# Of section V.B: time of CLAP-tc in parts of CLAP-impl's, at all levels of all programs.
PAPER_CLAP = (1.01, 1.42)
SYSTEMS = {"clocks": "PRES-tc", "global": "PRES-impl"}


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--page", type=Path, default=PAGE, help="where to write the page")
    options = parser.parse_args()
    start = time.monotonic()
    with workshop() as shop:
        events = [figure.row()[:2] for figure in recording.events(shop, options.rounds)]
        pres = recording.sweep(shop, options.rounds)
        clap = recording.sweep(
            shop, options.rounds, ("sync", *CLAP_LEVELS), (2,), orders=("clocks",), values=1
        )
    text = page(events, pres, clap, time.monotonic() - start)
    options.page.write_text(text)
    print(text)


def page(events: Sequence[Sequence[str]], pres: Times, clap: Times, seconds: float) -> str:
    """The whole page."""
    day = time.strftime("%Y-%m-%d")
    return sections(
        "# Recording",
        f"Figures of {day}, made by `python -m evaluation.recording` on {os.cpu_count()} cores in "
        f"{seconds / 60:.1f} minutes, with a load of {os.getloadavg()[0]:.1f} at the end (run it "
        "with `chrt -f 5` if the machine has other work). benchmarks/recording.py says what the "
        "kernels are and how they are timed; their programs are built with gcc -O2 -fno-inline, "
        "in the plain build as well.",
        "## One event",
        "What logging costs each of two threads that truly run at the same time: the median of "
        "the rounds in which both had a core. Few of these include the first touch of a page of "
        "the log; the kernels below pay for it.",
        table(("", "ns an event"), events),
        "## Figure 9: execution time by level, 2 threads",
        "Relative to the plain program's. *not recorded* is the program as `unsnarl cc` builds it, "
        "run on its own: it calls the probe at every access. The paper's means over eight "
        "programs (section V.A) are below ours where its text gives them.",
        table(_head(), _figure_9(pres)),
        *_shares(pres),
        "## Figure 10: by the number of threads",
        "With more threads than cores (here all but 2) threads wait for a core, not for the lock "
        "that orders PRES-impl's events: the paper's growth needs its 24 cores.",
        table(("kernel", "level", "system", *map(str, THREADS)), _figure_10(pres)),
        "## Figure 12: paths and clocks (CLAP)",
        "CLAP-impl logs what is needed to follow a thread alone; CLAP-tc also logs clocks: at "
        "entries and exits of functions (FUNC), at every loop turn (LOOP; the paper's also at "
        "loop entries and exits), or both. Here the values of accesses are logged (`--values`), "
        "for CLAP-impl with locks and threads only; figures are relative to that, 2 threads. "
        "The paper's programs "
        f"need {PAPER_CLAP[0]} to {PAPER_CLAP[1]}, most less than 1.1. It logs branches, which "
        "cost less than values: clocks weigh more there.",
        table(_head_12(), _figure_12(clap)),
    )


def _head() -> tuple[str, ...]:
    names = [
        f"{PAPER_LEVELS[level]} {SYSTEMS[order][5:]}" for level in PRES_LEVELS for order in ORDERS
    ]
    return ("kernel", IDLE, *names)


def _figure_9(times: Times) -> Iterator[Sequence[object]]:
    ways = [IDLE, *(way_name(level, order) for level in PRES_LEVELS for order in ORDERS)]
    for kernel in KERNELS:
        yield (kernel, *(times.normalised(kernel, 2, way) for way in ways))
    means = [statistics.mean(times.normalised(k, 2, way) for k in KERNELS) for way in ways]
    yield ("mean", *means)
    paper = [
        1 + PAPER_MEANS[level][order == "clocks"] / 100 if level in PAPER_MEANS else None
        for level in PRES_LEVELS
        for order in ORDERS
    ]
    yield ("the paper's mean", None, *paper)


def _shares(times: Times) -> Iterator[str]:
    yield (
        "PRES-tc's overhead relative to PRES-impl's, 2 threads (the paper's means: 0.42 at "
        "FUNC, 0.40 at BB; lowest 0.15):"
    )
    rows = [
        (
            kernel,
            base,
            *(times.share(kernel, 2, level, base) for level in PRES_LEVELS),
        )
        for kernel in KERNELS
        for base in (recording.PLAIN, IDLE)
    ]
    yield table(("kernel", "overhead over", *(PAPER_LEVELS[level] for level in PRES_LEVELS)), rows)


def _figure_10(times: Times) -> Iterator[Sequence[object]]:
    for kernel in KERNELS:
        for level in ("func", "block"):
            for order in ORDERS:
                way = way_name(level, order)
                found = (times.normalised(kernel, count, way) for count in THREADS)
                yield (kernel, PAPER_LEVELS[level], SYSTEMS[order], *found)


def _head_12() -> tuple[str, ...]:
    return (
        "kernel",
        "CLAP-impl of plain",
        *(f"CLAP-tc {PAPER_LEVELS[one]}" for one in CLAP_LEVELS),
    )


def _figure_12(times: Times) -> Iterator[Sequence[object]]:
    impl = way_name("sync", "clocks")
    for kernel in KERNELS:
        cell = times.found[kernel, 2]
        parts = (cell[way_name(level, "clocks")] / cell[impl] for level in CLAP_LEVELS)
        yield (kernel, times.normalised(kernel, 2, impl), *parts)


if __name__ == "__main__":
    main()
