# SPDX-License-Identifier: Apache-2.0
"""The bars of programs that have the shape of published ones, next to those of all: one table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from evaluation import markdown
from evaluation.proof_results import Proved, ProvedZoo

HEAD = ("bar", "wanted", "shapes of published programs", "all", "met by both")
ROWS = (
    "bug",
    "published shape",
    "verdict",
    "all variables named",
    "shape",
    "is the right one",
    "patch",
    "fails when it is applied",
    "seconds",
)


class _Bar(NamedTuple):
    text: str
    wanted: float
    holds: Callable[[Proved], bool]
    counts: Callable[[Proved], bool] = lambda row: True


BARS = (
    _Bar("found", 1.0, lambda row: row.found),
    _Bar("every variable of the cause named", 11 / 12, lambda row: row.named),
    _Bar("true cause confirmed", 11 / 12, lambda row: row.confirmed),
    _Bar("answer within --time 60 and one run", 1.0, lambda row: row.in_time),
    _Bar(
        "shape named right",
        0.85,
        lambda row: row.shape in row.shapes,
        lambda row: bool(row.shapes),
    ),
    _Bar("a patch with which nothing fails", 0.75, lambda row: row.is_patched),
    _Bar(
        "no wrong patch shown: 1000 runs each",
        1.0,
        lambda row: row.is_patched,
        lambda row: bool(row.patch),
    ),
)


def by_bug(found: ProvedZoo) -> list[Proved]:
    """One row per bug: that of its most frequent failure."""
    return list({row.bug: row for row in reversed(found.rows)}.values())[::-1]


def table(found: ProvedZoo) -> str:
    """All bars, for both."""
    every = by_bug(found)
    public = [row for row in every if row.public]
    return markdown.table(HEAD, [_cells(bar, public, every) for bar in BARS])


def _cells(bar: _Bar, *sets: Sequence[Proved]) -> tuple[object, ...]:
    counted = [[row for row in rows if bar.counts(row)] for rows in sets]
    held = [sum(map(bar.holds, rows)) for rows in counted]
    met = all(
        part >= bar.wanted * len(rows) and rows for part, rows in zip(held, counted, strict=True)
    )
    shares = [markdown.share(part, len(rows)) for part, rows in zip(held, counted, strict=True)]
    return bar.text, f"{bar.wanted:.0%}", *shares, bool(met)


def section(found: ProvedZoo) -> str:
    """The part of a page; nothing where no bug has the shape of a published program."""
    if not any(row.public for row in found.rows):
        return ""
    return markdown.sections(
        "## Shapes of published programs",
        "Bugs written after the shapes of SCTBench, ConVul and others on which strangers measured "
        "unsnarl (`public` in bug.toml), next to all; one row per bug, of its most frequent "
        "failure.",
        table(found),
        markdown.table(ROWS, map(_row, by_bug(found))),
    ).rstrip("\n")


def _row(row: Proved) -> tuple[object, ...]:
    return (
        row.bug,
        row.public,
        row.status if row.true else f"{row.status}, not the true cause",
        row.named,
        row.shape or None,
        row.shape in row.shapes,
        row.patch or None,
        f"{row.patched_fail} of {row.patched_runs}",
        f"{row.seconds:.1f}",
    )
