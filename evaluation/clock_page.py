# SPDX-License-Identifier: Apache-2.0
"""docs/clocks.md: ReCBuLC's tables IV and V and figure 13, ours and the paper's."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchmarks.clocks import WIDTH

from evaluation import markdown
from evaluation.bars import Bar
from evaluation.papers import RECBULC_4, RECBULC_13
from unsnarl.recording.clocks import ClockRange, Clocks
from unsnarl.recording.clocks.statistics import CONFIDENCES, Interval

COLUMNS = 61  # of the chart

if TYPE_CHECKING:
    from evaluation.clocks import Results, Window


def bars(found: Results) -> list[Bar]:
    """The bars that the page shows."""
    narrow = found.known.widest <= WIDTH
    return [
        Bar(f"skew range at most {WIDTH} cycles wide", 1.0, int(narrow), 1),
        Bar("messages not ordered wrongly", 1.0, found.sent - found.wrong, found.sent),
        _unseen_bar(found),
    ]


def _unseen_bar(found: Results) -> Bar:
    full = next(iter(found.unseen.values()))
    good = full["unseen"] - full["wrong"]
    return Bar("unseen writes not ordered wrongly", 1.0, good, full["unseen"])


def page(found: Results) -> str:
    """The whole page."""
    return markdown.sections(
        "# Clocks",
        f"Figures of {found.date}, made by `{found.command}` on {found.machine}. Numbers are "
        "cycles of the processor's counter unless another unit is given. The paper: ReCBuLC, "
        "ICSE 2015, section V.C, on real hardware.",
        markdown.table(("bar", "wanted", "measured", "met"), [bar.cells() for bar in bars(found)]),
        *_hard(found),
        *_unseen(found),
        *_table_iv(found),
        *_table_v(found),
        *_figure_13(found),
    )


def _hard(found: Results) -> Sequence[str]:
    known = found.known
    lines = [
        f"- core {one.second} is {one.low} to {one.high} ahead of core {one.first}: {one.width} "
        f"wide ({one.width / known.frequency * 1e9:.0f} ns)"
        for one in known.ranges
    ]
    return (
        "## The hard range",
        "\n".join(lines),
        f"Measured in {known.windows} windows; widened by {known.margin} on either side, as the "
        f"counter moves in steps of {known.grain}. The middles of the windows' ranges were up to "
        f"{known.wobble} apart. (The host of a virtual machine moves its cores, and counters of "
        "different cores step at different times: [how it works](internals/clocks.md).)",
        f"{found.sent:,} messages were then sent between two cores, stamped before sending and "
        f"after receiving: {found.wrong} were ordered wrongly, {found.right:,} "
        f"({100 * found.right / found.sent:.2f} %) were proved to be in the right order, the rest "
        "were left open. Such a test sees only errors larger than the time of a message.",
    )


def _unseen(found: Results) -> Sequence[str]:
    head = ("fences", "unseen writes", "ordered wrongly", "at worst beyond the range by")
    return (
        "## Figure 2(b): writes that are not seen yet",
        "One core writes and stamps, another stamps and reads, and does not see the write. If the "
        "stamps prove that the write came first, they lie: it was still in the write buffer. "
        "(Negative: so much was left.)",
        markdown.table(head, [(name, *one.values()) for name, one in found.unseen.items()]),
        "So only stamps with all the fences of figure 2(c), or right after a locked instruction, "
        "prove that a write came before something.",
    )


def _table_iv(found: Results) -> Sequence[str]:
    names = [row.test for row in found.tests[0].tests]
    rows = [
        [
            name,
            *_cells(found.tests[0], name),
            *_cells(found.tests[1], name),
            *RECBULC_4.get(name, ()),
        ]
        for name in names
    ]
    rows.append(["together", *_together(found.tests[0]), *_together(found.tests[1])])
    rows[-1] += RECBULC_4["together"]
    head = ("test", "1st: min", "max", "2nd: min", "max")
    paper = ("paper 1st: min", "max", "2nd: min", "max")
    return (
        "## Table IV: program testing",
        "Two tests of one window each, 10,000 runs of every program, as in the paper; without a "
        "margin. Figure 5(b) is done 500 times in a virtual machine: its CPUID leaves the "
        "virtual machine every time, so its range is useless there. The ping-pong is ours.",
        markdown.table((*head, *paper), [_padded(row, 9) for row in rows]),
    )


def _padded(row: Sequence[object], width: int) -> list[object]:
    return [*row, *[None] * (width - len(row))]


def _cells(clocks: Clocks, name: str) -> tuple[object, object]:
    for row in clocks.tests:
        if row.test == name:
            return row.low, row.high
    return None, None


def _together(clocks: Clocks) -> tuple[int, int]:
    return max(row.low for row in clocks.tests), min(row.high for row in clocks.tests)


def _table_v(found: Results) -> Sequence[str]:
    return (
        "## Table V: confidence intervals",
        "Each cell is the interval of equation 9 and its width; N runs are behind a sample, M "
        "samples behind an interval. The paper's text gives one width of its table: about 100 "
        "with confidence 0.99999, N = 20 and M = 5.",
        "Figure 6 needs three cores. On simulated clocks, whose true skew is 37:",
        _intervals(found.simulated),
        f"On this machine, by {found.scheme} (the windows of figure 13 below):",
        _intervals(found.real),
        "The hard range is "
        f"{found.known.ranges[0].low} to {found.known.ranges[0].high}. Estimates never prove an "
        "order: the intervals say how well a mean is known, if nothing moves.",
    )


def _intervals(found: dict[tuple[int, int], list[Interval]]) -> str:
    head = ["confidence", *(f"N = {n}, M = {m}" for n, m in found)]
    rows = [
        [f"{confidence:g}", *(_interval(column[place]) for column in found.values())]
        for place, confidence in enumerate(CONFIDENCES)
    ]
    return markdown.table(head, rows)


def _interval(found: Interval) -> str:
    return f"{found.low:.1f} to {found.high:.1f} ({found.width:.1f})"


def _figure_13(found: Results) -> Sequence[str]:
    rows = [
        (f"{real.seconds:.0f}", real.skew, real.so_far, made.skew, made.so_far)
        for real, made in zip(found.windows, found.simulated_windows, strict=True)
    ]
    head = ("seconds", "skew, this machine", "so far", "skew, simulated", "so far")
    return (
        "## Figure 13: stability of equation 7",
        f"Scaled down: {len(rows)} windows of 20,000 runs within "
        f"{found.windows[-1].seconds:.0f} seconds; the paper has 10 days, each hour with 360,000 "
        "runs.",
        markdown.table(
            ("", "lowest", "highest", "sample variance"),
            [
                (f"this machine, {found.scheme}", *_stability(found.windows)),
                ("figure 6, simulated, true skew 37", *_stability(found.simulated_windows)),
                ("paper", *RECBULC_13),
            ],
        ),
        "The simulated skew is constant: its row shows what equation 7 does by itself. What "
        "this machine's row has beyond that is movement: of the skew, or of messages that take "
        "longer one way than the other while other work runs. The two cannot be distinguished "
        "here. "
        f"{_inside(found)} of {len(rows)} windows are inside the hard range.",
        "The figure itself, from one end of the hard range to the other: `o` is the skew of a "
        "window, `+` that of all windows so far, `*` both.",
        chart(found.windows, found.known.ranges[0]),
        markdown.table(head, rows),
    )


def chart(windows: Sequence[Window], hard: ClockRange) -> str:
    """Figure 13 in letters, time going down."""
    zero = _column(0.0, hard)
    lines = [f"seconds  {hard.low} to {hard.high} cycles; the dots are at 0"]
    for one in windows:
        marks = [" "] * COLUMNS
        marks[zero] = "."
        marks[_column(one.so_far, hard)] = "+"
        here = _column(one.skew, hard)
        marks[here] = "*" if marks[here] == "+" else "o"
        lines.append(f"{one.seconds:>7.0f} |{''.join(marks)}|")
    return "\n".join(["```text", *lines, "```"])


def _column(skew: float, hard: ClockRange) -> int:
    share = (skew - hard.low) / max(hard.width, 1)
    return round(min(max(share, 0.0), 1.0) * (COLUMNS - 1))


def _inside(found: Results) -> int:
    hard = found.known.ranges[0]
    return sum(hard.low <= one.skew <= hard.high for one in found.windows)


def _stability(windows: Sequence[Window]) -> tuple[float, float, str]:
    values = [one.skew for one in windows]
    return min(values), max(values), f"{statistics.variance(values):.4g}"
