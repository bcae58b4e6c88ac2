# SPDX-License-Identifier: Apache-2.0
"""Figures, their bars, and the table of them."""

from __future__ import annotations

import json
import math
import os
import platform
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "results"
COLUMNS = ("figure", "value", "spread", "bar", "")


@dataclass(frozen=True)
class Figure:
    """One measured value, with the samples behind it.

    Attributes:
        name: What was measured.
        value: The median (or the sum of it all) that the bar is held against.
        low: The smallest sample.
        high: The largest sample.
        unit: Written after the value.
        bar: The limit, or None where the figure only informs.
        at_least: Whether the value has to reach the bar rather than to stay within it.
        details: Whatever else is worth keeping in the results file.
    """

    name: str
    value: float
    low: float
    high: float
    unit: str = "x"
    bar: float | None = None
    at_least: bool = False
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def passes(self) -> bool:
        """Whether the bar is kept; a figure without one always does."""
        if self.bar is None:
            return True
        return self.value >= self.bar if self.at_least else self.value <= self.bar

    def row(self) -> tuple[str, ...]:
        """The cells of the table's row."""
        bar = "" if self.bar is None else f"{'>=' if self.at_least else '<='} {_text(self.bar)}"
        verdict = "" if self.bar is None else "PASS" if self.passes else "MISS"
        spread = f"{_text(self.low)}..{_text(self.high)}" if self.low != self.high else ""
        return (self.name, f"{_text(self.value)} {self.unit}", spread, bar, verdict)


def median(name: str, samples: Sequence[float], **more: Any) -> Figure:
    """The figure whose value is the median of the samples."""
    return Figure(name, statistics.median(samples), min(samples), max(samples), **more)


def ratios(over: Sequence[float], under: Sequence[float]) -> list[float]:
    """Each sample against the median of the other side: one slow plain run must not flatter."""
    base = statistics.median(under)
    return [sample / base for sample in over]


def table(figures: Sequence[Figure]) -> str:
    """The figures as text, one row each."""
    rows = [COLUMNS, *(figure.row() for figure in figures)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(COLUMNS))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join(lines)


def save(figures: Sequence[Figure], quick: bool, seconds: float) -> Path:
    """Write the figures to a file of their own in `results`."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / time.strftime("%Y%m%d-%H%M%S.json")
    content = {
        "version": 1,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "load": os.getloadavg(),
        "quick": quick,
        "seconds": round(seconds, 1),
        "figures": [asdict(figure) | {"passes": figure.passes} for figure in figures],
    }
    path.write_text(json.dumps(content, indent=1) + "\n")
    return path


def _text(value: float) -> str:
    if math.isinf(value) or value == int(value):
        return f"{value:.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 20 else f"{value:.2f}"
