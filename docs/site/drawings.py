# SPDX-License-Identifier: Apache-2.0
"""`python -m docs.site.drawings`: the drawings of docs/explanation, as SVG files in docs/figures.

All of them show one bug, that of `unsnarl demo`: a thread asks a queue for its length, another one
takes the last item, the first one acts on an answer that is out of date. Scores in them are
computed by the package's own functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

import numpy as np

from unsnarl.analyses.falcon.scores import suspiciousness

FIGURES = Path(__file__).parents[1] / "figures"
INK, SOFT, PALE = "#24292f", "#6e7781", "#d0d7de"
FIRST, OTHER, WRONG, RIGHT = "#0969da", "#9a6700", "#cf222e", "#1a7f37"
COLOURS = {2: FIRST, 1: OTHER}


class Access(NamedTuple):
    """What a thread did to `length`, and what it found or left there."""

    thread: int
    op: str
    value: int


FAILING = (Access(2, "R", 1), Access(1, "R", 1), Access(1, "W", 0), Access(2, "R", 0))
PASSING = (Access(2, "R", 1), Access(2, "R", 1), Access(2, "W", 0), Access(1, "R", 0))


class Drawing:
    """An SVG in the making: everything is placed by numbers."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self._size = (width, height)
        self._title = title
        self._parts: list[str] = []

    def text(
        self, x: float, y: float, text: str, colour: str = INK, *, size: int = 13, at: str = "start"
    ) -> None:
        """A line of text; `at` says which of its ends is at x."""
        self._parts.append(
            f'<text x="{x:g}" y="{y:g}" fill="{colour}" font-size="{size}" text-anchor="{at}">'
            f"{escape(text)}</text>"
        )

    def line(
        self, start: tuple[float, float], end: tuple[float, float], colour: str = SOFT, **more: str
    ) -> None:
        """A straight line; `more` are attributes of SVG, with underscores."""
        attributes = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in more.items())
        self._parts.append(
            f'<line x1="{start[0]:g}" y1="{start[1]:g}" x2="{end[0]:g}" y2="{end[1]:g}" '
            f'stroke="{colour}" stroke-width="1.5"{attributes}/>'
        )

    def arrow(
        self, start: tuple[float, float], end: tuple[float, float], colour: str = INK
    ) -> None:
        """A line with a head."""
        name = colour.removeprefix("#")
        self.line(start, end, colour, marker_end=f"url(#head-{name})")

    def box(
        self, at: tuple[float, float], size: tuple[float, float], colour: str, fill: str = "none"
    ) -> None:
        """A rectangle with round corners; `at` is the upper left one."""
        (x, y), (width, height) = at, size
        self._parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4" '
            f'stroke="{colour}" stroke-width="1.5" fill="{fill}"/>'
        )

    def event(self, x: float, y: float, access: Access, colour: str = "") -> None:
        """An access as a box: `R 1`."""
        shade = colour or COLOURS[access.thread]
        self.box((x - 21, y - 14), (42, 28), shade, "#ffffff")
        self.text(x, y + 4.5, f"{access.op} {access.value}", shade, at="middle")

    def svg(self) -> str:
        """The file."""
        width, height = self._size
        heads = "".join(_head(colour) for colour in (INK, SOFT, FIRST, OTHER, WRONG, RIGHT))
        body = "\n".join(self._parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" font-family="sans-serif">\n'
            f"<title>{escape(self._title)}</title>\n<defs>{heads}</defs>\n"
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>\n{body}\n</svg>\n'
        )


def _head(colour: str) -> str:
    return (
        f'<marker id="head-{colour.removeprefix("#")}" viewBox="0 0 8 8" refX="7" refY="4" '
        f'markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="{colour}"/>'
        "</marker>"
    )


LANES = {2: 60, 1: 120}
LEFT, STEP = 190, 100


def _lanes(drawing: Drawing, run: Sequence[Access], top: int, title: str) -> None:
    """A run: a lane per thread, time to the right."""
    drawing.text(16, top + 22, title, SOFT)
    end = LEFT + STEP * (len(run) - 1) + 60
    for thread, lane in LANES.items():
        drawing.text(16, top + lane + 5, f"Thread-{thread}", COLOURS[thread])
        drawing.line((110, top + lane), (end, top + lane), PALE)
    for number, access in enumerate(run):
        drawing.event(LEFT + STEP * number, top + LANES[access.thread], access)


def bugaboo() -> str:
    """An edge, and the contexts of its ends."""
    drawing = Drawing(760, 270, "A communication edge with the contexts of its ends")
    _lanes(drawing, FAILING, 10, "length of the queue, a failing run")
    write, read = (LEFT + 2 * STEP, 130), (LEFT + 3 * STEP, 70)
    drawing.arrow((write[0] + 22, write[1] - 10), (read[0] - 12, read[1] + 16), WRONG)
    drawing.text(write[0] + 160, 108, "edge: read what was written", WRONG)
    for x, lines in (
        (LEFT, ("source: line 29", "context: …, remote read,", "local read")),
        (LEFT + 270, ("sink: line 27", "context: …, remote read,", "remote write")),
    ):
        drawing.box((x, 176), (220, 78), SOFT)
        for number, line in enumerate(lines):
            drawing.text(x + 12, 198 + 22 * number, line, INK if number else SOFT)
    drawing.line((write[0], 146), (LEFT + 110, 176), SOFT, stroke_dasharray="3 3")
    drawing.line((read[0], 84), (LEFT + 380, 176), SOFT, stroke_dasharray="3 3")
    return drawing.svg()


def falcon() -> str:
    """The window of one cell in two runs, and the score of a pattern."""
    drawing = Drawing(760, 330, "The windows of a cell, and an unserialisable pattern")
    for top, run, title in ((0, FAILING, "failing run"), (110, PASSING, "passing run")):
        drawing.text(16, top + 54, title, SOFT)
        for number, access in enumerate(run):
            x = 170 + 90 * number
            drawing.event(x, top + 50, access)
            drawing.text(x, top + 86, f"Thread-{access.thread}", SOFT, size=11, at="middle")
    drawing.line((170, 20), (440, 20), WRONG)
    for x in (170, 350, 440):
        drawing.line((x, 20), (x, 34), WRONG)
    drawing.text(470, 26, "R2 W1 R2: no serial order has it", WRONG)
    drawing.text(16, 246, "suspiciousness: failing runs that have the pattern,", SOFT)
    drawing.text(16, 264, "over all failing runs and the passing runs that have it", SOFT)
    for number, (failed, passed) in enumerate(((25, 0), (25, 25), (5, 0))):
        (score,) = suspiciousness(np.array([failed]), np.array([passed]), 25, 25)
        y = 236 + 30 * number
        counts = f"{failed} of 25 failing, {passed} of 25 passing"
        drawing.text(400, y + 14, f"if in {counts}:")
        drawing.box((620, y), (100, 18), PALE)
        drawing.box((620, y), (max(2.0, 100 * score), 18), WRONG, "#ffcecb")
        drawing.text(670, y + 14, f"{score:.2f}", at="middle")
    return drawing.svg()


REGIONS = (
    ("prefix", 16, 180, ("T2 checks length: 1", "in all failing runs")),
    ("source", 206, 130, ("T1 writes 0",)),
    ("body", 346, 130, ("other accesses,", "in some runs")),
    ("sink", 486, 130, ("T2 reads 0",)),
    ("suffix", 626, 118, ("T2 fails",)),
)


def recon() -> str:
    """A reconstruction: what happened around an edge, over all failing runs."""
    drawing = Drawing(760, 240, "A reconstruction around one edge")
    for number in range(3):
        y = 36 + 22 * number
        drawing.text(16, y + 4, f"failing run {number + 1}", SOFT, size=11)
        for place, x in enumerate((150 + 7 * number, 270, 330 - 5 * number, 550, 680)):
            shade = (FIRST, OTHER, PALE, FIRST, WRONG)[place]
            drawing.box((x, y - 6), (12, 12), shade, shade)
        drawing.arrow((284, y), (546, y), SOFT)
    drawing.text(16, 112, "aggregated: what is where, and in how many of the runs", SOFT)
    for name, x, width, lines in REGIONS:
        is_edge = name in ("source", "sink")
        drawing.box((x, 124), (width, 96), INK if is_edge else PALE)
        drawing.text(x + 12, 146, name, INK if is_edge else SOFT)
        for number, line in enumerate(lines):
            drawing.text(x + 12, 172 + 20 * number, line, size=12)
    drawing.arrow((336, 208), (486, 208), WRONG)
    return drawing.svg()


def local_clocks() -> str:
    """Stamps of two cores: what their clocks prove, and what they leave open."""
    drawing = Drawing(760, 250, "Stamps of two cores with the range of their skew")
    for name, y in (("core 0", 60), ("core 1", 140)):
        drawing.text(16, y + 5, name)
        drawing.line((80, y), (740, y), PALE)
    # What an event of core 0 may be on core 1's clock.
    for x in (170, 520):
        drawing.box((x - 60, 128), (120, 24), FIRST, "#ddf4ff80")
        drawing.line((x, 66), (x, 128), FIRST, stroke_dasharray="3 3")
    for x, y, name in ((170, 60, "a"), (380, 140, "b"), (520, 60, "c"), (560, 140, "d")):
        drawing.box((x - 5, y - 5), (10, 10), INK, INK)
        drawing.text(x, y - 16, name, at="middle")
    drawing.arrow((232, 184), (376, 184), RIGHT)
    drawing.text(304, 206, "proved: a before b", RIGHT, at="middle")
    drawing.text(540, 184, "open: c and d overlap", WRONG, at="middle")
    drawing.text(
        16, 236, "blue: where core 1's clock may have been when core 0 took its stamp", FIRST
    )
    return drawing.svg()


# What the rule allows, as shares of an arm's runs: these are no results.
ARMS = (
    ("forced", "fresh runs, the order enforced", (0.5, 1.0), "at least half must fail"),
    ("forbidden", "recorded failures, the order made impossible", (0.0, 0.0), "none may fail"),
    ("control", "recorded failures, a hold elsewhere", (0.5, 1.0), "at least half must still fail"),
)


def experiments() -> str:
    """The three arms of an experiment, and how many of their runs must fail."""
    drawing = Drawing(760, 232, "The three arms of an experiment, and how many runs must fail")
    drawing.text(320, 20, "0 %", SOFT, size=11)
    drawing.text(520, 20, "100 % of the runs fail", SOFT, size=11, at="middle")
    for number, (name, what, (least, most), rule) in enumerate(ARMS):
        y = 32 + 62 * number
        drawing.text(16, y + 14, name)
        drawing.text(16, y + 32, what, SOFT, size=12)
        drawing.box((320, y), (200, 22), PALE)
        size = (max(4.0, 200 * (most - least)), 22)
        drawing.box((320 + 200 * least, y), size, RIGHT, "#dafbe1")
        drawing.text(540, y + 15, rule, SOFT)
    drawing.text(16, 222, "green: what a finding needs to be confirmed", RIGHT, size=12)
    return drawing.svg()


DRAWINGS: dict[str, Callable[[], str]] = {
    "bugaboo": bugaboo,
    "falcon": falcon,
    "recon": recon,
    "local-clocks": local_clocks,
    "experiments": experiments,
}


if __name__ == "__main__":
    for name, draw in DRAWINGS.items():
        (FIGURES / f"{name}.svg").write_text(draw(), encoding="utf-8")
