# SPDX-License-Identifier: Apache-2.0
"""`unsnarl clocks` for a person: the answer, then the paper's tables IV and V for every pair."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterator, Sequence

from unsnarl.recording.clocks import ClockRange, Clocks, TestRange

WIDTH = 80
MOST_TABLES = 6  # of pairs: a machine with 64 cores has 2016


def text(clocks: Clocks, kept: bool) -> str:
    """All there is to say, with a newline at the end."""
    lines = [*_head(clocks, kept), *_answers(clocks), *_tables(clocks), *_foot(clocks)]
    return "\n".join(lines) + "\n"


def _head(clocks: Clocks, kept: bool) -> Iterator[str]:
    cores = sorted({core for found in clocks.ranges for core in (found.first, found.second)})
    what = "processor counter" if clocks.source == "counter" else "kernel clock (clock_gettime)"
    rate = f"{clocks.frequency / 1e9:.3f} GHz"
    yield f"clocks of {len(cores)} cores: {what}, {rate}, step {_ticks(clocks, clocks.grain)}"
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(clocks.measured))
    how = "threads bound to cores" if clocks.pinned else "threads not bound"
    yield f"{'kept from' if kept else 'measured'} {when}, {clocks.windows} windows, {how}"
    yield ""


def _answers(clocks: Clocks) -> Iterator[str]:
    shown = sorted(clocks.ranges, key=lambda found: -found.width)
    for found in shown[:MOST_TABLES]:
        yield from textwrap.wrap(
            f"core {found.second} is {found.low} to {found.high} {_unit(clocks)} ahead of core "
            f"{found.first}: certain, {_ticks(clocks, found.width)} wide",
            WIDTH,
            subsequent_indent="  ",
        )
    if len(shown) > MOST_TABLES:
        yield f"... and {len(shown) - MOST_TABLES} pairs with narrower ranges (--json has all)"
    yield "stamps of two cores prove an order only if they differ by more than that"


def _tables(clocks: Clocks) -> Iterator[str]:
    tested = {(row.first, row.second) for row in clocks.tests}
    shown = [found for found in clocks.ranges if (found.first, found.second) in tested]
    for found in sorted(shown, key=lambda found: -found.width)[:MOST_TABLES]:
        yield ""
        yield from _program_table(clocks, found)
        yield from _confidence_table(clocks, found)


def _program_table(clocks: Clocks, found: ClockRange) -> Iterator[str]:
    """Table IV."""
    rows = [t for t in clocks.tests if (t.first, t.second) == (found.first, found.second)]
    yield f"  cores {found.first} and {found.second}"
    yield _row("test (ReCBuLC)", "min", "max", "width", "runs")
    for row in rows:
        note = f"   not used: {row.dropped}" if row.dropped else ""
        yield _row(row.test, row.low, row.high, row.high - row.low, row.runs) + note
    low, high = _together(rows)
    yield _row("together", low, high, high - low, "")
    if (found.low, found.high) != (low - clocks.margin, high + clocks.margin):
        yield _row("all that is known", found.low, found.high, found.width, "")
    else:
        yield _row(f"and a step of {clocks.margin}", found.low, found.high, found.width, "")


def _together(rows: Sequence[TestRange]) -> tuple[int, int]:
    return max(row.low for row in rows), min(row.high for row in rows)


def _confidence_table(clocks: Clocks, found: ClockRange) -> Iterator[str]:
    """Table V."""
    rows = [e for e in clocks.estimates if (e.first, e.second) == (found.first, found.second)]
    if not rows:
        return
    yield ""
    yield (
        f"  a guess is {rows[0].value:.1f}, by {rows[0].scheme} "
        f"(N = {rows[0].n}, M = {rows[0].m}); it proves nothing"
    )
    yield _row("confidence", "min", "max", "width", "")
    for row in rows:
        low, high = f"{row.low:.1f}", f"{row.high:.1f}"
        yield _row(f"{row.confidence:.5g}", low, high, f"{row.high - row.low:.1f}", "")


def _foot(clocks: Clocks) -> Iterator[str]:
    yield ""
    if clocks.virtual:
        yield from textwrap.wrap(
            "this is a virtual machine, and its host moves the cores: the middle of the range was "
            f"seen to change by {clocks.wobble} {_unit(clocks)}",
            WIDTH,
        )
    for note in clocks.notes:
        yield from textwrap.wrap(note, WIDTH)
    yield "to make the ranges narrower, measure more: unsnarl clocks --again"


def _row(*cells: object) -> str:
    first, *rest = map(str, cells)
    return f"    {first:<18}" + "".join(f"{cell:>9}" for cell in rest).rstrip()


def _unit(clocks: Clocks) -> str:
    return "cycles" if clocks.source == "counter" else "ns"


def _ticks(clocks: Clocks, count: float) -> str:
    """`260 cycles (100 ns)`; of the kernel's clock a tick is a nanosecond."""
    if clocks.source == "kernel":
        return f"{count:.0f} ns"
    return f"{count:.0f} cycles ({count / clocks.frequency * 1e9:.0f} ns)"
