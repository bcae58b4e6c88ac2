# SPDX-License-Identifier: Apache-2.0
"""Recording: what an event costs, and what each level costs with either order (ReCBuLC V.A).

PRES-tc is `--order clocks`, PRES-impl `--order global`. A cell is a kernel, a number of threads and
a level; its time is the shortest wall time inside main of some rounds, in which all ways take
turns: the one in which the threads were left alone most. Overhead is the time beyond the plain
program's, or beyond that of the same program when it is not recorded: our build also calls the
probe at every access, which replays need and recording at FUNC does not.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.figures import Figure
from benchmarks.native import SIZES, Way
from benchmarks.programs import APART, SOURCES, Build, Program, Workshop, workshop
from benchmarks.subject import SubjectError
from unsnarl.model.record import PRES_LEVELS
from unsnarl.runfile import pieces

NS_BAR = 14
SHARE_BAR = 0.5
CALLS, ROUNDS_OF_EVENTS = 3000, 5
EVENTS_OF_A_CALL = 2
FEWEST_ROUNDS = 20  # in which the threads of `events` must have overlapped
EVENT_WAYS = {
    "clocks": {"level": "func"},
    "clocks, fenced": {"level": "func", "fenced": 1},
    "global": {"level": "func", "order": "global"},
}
# Those that call functions all the time, in threads that overlap. (The others' loops call none.)
KERNELS = ("options", "clusters", "compressor", "hash_table")
# A record has 16 bytes: kernels are shorter than those whose accesses are only tracked.
SHRINK = 8
THREADS = (2, 4, 8)
ORDERS = ("clocks", "global")
# Functions stay functions, in the plain program as well.
FLAGS = ("-fno-inline",)
PLAIN, IDLE = "plain", "not recorded"


@dataclass
class Times:
    """Shortest wall seconds by kernel, threads and way."""

    found: dict[tuple[str, int], dict[str, float]] = field(default_factory=dict)

    def normalised(self, kernel: str, threads: int, way: str) -> float:
        """In parts of the plain program's time, as figures 9, 10 and 12 have it."""
        cell = self.found[kernel, threads]
        return cell[way] / cell[PLAIN]

    def share(self, kernel: str, threads: int, level: str, base: str = PLAIN) -> float:
        """PRES-tc's overhead in parts of PRES-impl's."""
        cell = self.found[kernel, threads]
        ours, theirs = (cell[way_name(level, order)] - cell[base] for order in ORDERS)
        return ours / theirs


def way_name(level: str, order: str) -> str:
    """What a level with an order is called."""
    return f"{level}, {order}"


def figures(quick: bool) -> Iterator[Figure]:
    """Nanoseconds an event; overheads side by side."""
    with workshop() as shop:
        yield from events(shop, 2 if quick else ROUNDS_OF_EVENTS)
        yield from lateness(shop)
        times = sweep(shop, 3 if quick else 7, ("func",), (2,) if quick else THREADS)
        yield from _shares(times, PLAIN)
        yield from _shares(times, IDLE)


def events(shop: Workshop, rounds: int) -> Iterator[Figure]:
    """What logging one event costs each of two threads that run at the same time."""
    program = shop.program(Build("tracked", "gcc"), "events", [SOURCES / "events.c"], "--functions")
    plain = min(_event_ns(program, None, rounds))
    for name, options in EVENT_WAYS.items():
        found = [
            (ns - plain) / EVENTS_OF_A_CALL
            for ns in _event_ns(program, {"strategy": "record", **options}, rounds)
        ]
        bar = NS_BAR if name == "clocks" else None
        text = f"recording: an event, 2 threads at once, {name}"
        yield Figure(text, sorted(found)[len(found) // 2], min(found), max(found), "ns", bar)


def _event_ns(program: Program, plan: dict[str, Any] | None, rounds: int) -> list[float]:
    """Of some runs in which the threads overlapped often enough."""
    found: list[float] = []
    for _ in range(8 * rounds):
        measured = program.measure(CALLS, 2, plan=plan)
        pieces.discard(program.run_file)
        if measured["rounds"] >= FEWEST_ROUNDS:
            found.append(measured["ns"])
        if len(found) == rounds:
            break
    if not found:
        raise SubjectError("two threads never ran at the same time: the machine is too busy")
    return found


def lateness(shop: Workshop) -> Iterator[Figure]:
    """By how many ticks a stamp was seen to be too early: what `slack` in a record stands for."""
    flags = (f"-I{SOURCES.parents[1] / 'native'}",)
    program = shop.program(Build("plain", "gcc"), "late", [SOURCES / "late.c"], *flags)
    for reading, name in enumerate(("bare", "drained", "fenced", "locked")):
        found = [program.measure(reading, lines)["worst"] for lines in (0, 4, 16)]
        bar = 0 if name in ("fenced", "locked") else None
        text = f"recording: how early a stamp may be, {name}"
        yield Figure(text, max(found), min(found), max(found), "ticks", bar)


def sweep(
    shop: Workshop,
    rounds: int,
    levels: Sequence[str] = PRES_LEVELS,
    threads: Sequence[int] = THREADS,
    kernels: Sequence[str] = KERNELS,
    *,
    orders: Sequence[str] = ORDERS,
    **more: Any,
) -> Times:
    """All ways in turn, cell by cell; `more` goes into every plan."""
    ways = dict(_ways(shop, levels, orders, more))
    times = Times()
    for kernel in kernels:
        for count in threads:
            times.found[kernel, count] = _best(ways, rounds, kernel, SIZES[kernel] // SHRINK, count)
    return times


def _ways(
    shop: Workshop, levels: Sequence[str], orders: Sequence[str], more: dict[str, Any]
) -> Iterator[tuple[str, Way]]:
    words = (*FLAGS, "-lm")
    paths = sorted(path for path in SOURCES.glob("*.c") if path.name not in _APART)
    yield PLAIN, Way(shop.program(Build("plain", "gcc"), "plainly", paths, *words))
    loops = not {"loop", "funcloop"}.isdisjoint(levels)
    name, flags = ("looped", ("--loops",)) if loops else ("recorded", ("--functions", "--blocks"))
    tracked = shop.program(Build("tracked", "gcc"), name, paths, *words, *flags)
    yield IDLE, Way(tracked)
    for level in levels:
        for order in orders:
            plan = {"strategy": "record", "level": level, "order": order, **more}
            yield way_name(level, order), Way(tracked, plan)


_APART = ("bzip2.c", *APART)


def _best(ways: dict[str, Way], rounds: int, *arguments: object) -> dict[str, float]:
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, way in ways.items():
            measured = way.program.measure(*arguments, plan=way.plan)
            best[name] = min(best[name], measured["wall"])
            if way.plan is not None:
                pieces.discard(way.program.run_file)
    return best


def _shares(times: Times, base: str) -> Iterator[Figure]:
    """By number of threads: the overhead with clocks in parts of that with one order."""
    for count in sorted({threads for _, threads in times.found}):
        parts = {
            kernel: times.share(kernel, count, "func", base)
            for kernel, threads in times.found
            if threads == count
        }
        ordered = sorted(parts.values())
        # Where there are more threads than cores they do not truly overlap: no bar.
        bar = SHARE_BAR if count <= (os.cpu_count() or 1) else None
        text = f"recording: PRES-tc's overhead of PRES-impl's at FUNC, {count} threads, over {base}"
        yield Figure(
            text, statistics.median(ordered), ordered[0], ordered[-1], "x", bar, details=parts
        )
