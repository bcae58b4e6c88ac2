# SPDX-License-Identifier: Apache-2.0
"""C and C++ bugs whose first hunt was written down: `python -m evaluation.first_looks`.

Writes docs/first-looks-c.md: what hunts said before anything was changed for these bugs, and what
they say today, one hunt of each, one after the other.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from evaluation import markdown, proof_bars, proof_page
from evaluation.draws import REPOSITORY, ZOO_C
from evaluation.proof_results import Proved, ProvedZoo
from evaluation.proofs import PATCHED_C, WANTED_C, measure
from evaluation.truth import Bug, load_zoo

PAGE = REPOSITORY / "docs" / "first-looks-c.md"


class _Bar(NamedTuple):
    """`wanted` of twelve; `first` is what the first looks came to (docs/adr/0093)."""

    text: str
    wanted: int
    first: int | None
    holds: Callable[[Proved], bool]


BUGS = 12
BARS = (
    _Bar("found", 12, 11, lambda row: row.found),
    _Bar("every variable of the cause named", 11, 8, lambda row: row.named),
    _Bar("true cause confirmed", 11, 7, lambda row: row.confirmed),
    _Bar("answer within --time 60 and one run", 12, None, lambda row: row.in_time),
    _Bar("a patch with which nothing fails", 9, None, lambda row: row.is_patched),
)
HEAD = ("bar", "wanted", "first look", "today", "met")
COLUMNS = (
    "bug",
    "first look",
    "verdict today",
    "all variables named",
    "shape",
    "patch",
    "fails when it is applied",
    "seconds",
)


def looked_at(root: Path) -> list[Bug]:
    """The bugs whose first hunt was written down."""
    return [bug for bug in load_zoo(root) if bug.first_look]


def bars(rows: Sequence[Proved]) -> str:
    """All bars in one table; where not all bugs were hunted, their shares are what is wanted."""
    return markdown.table(HEAD, [_cells(bar, rows) for bar in BARS])


def _cells(bar: _Bar, rows: Sequence[Proved]) -> tuple[object, ...]:
    held = sum(map(bar.holds, rows))
    is_met = bool(rows) and held * BUGS >= bar.wanted * len(rows)
    first = None if bar.first is None else f"{bar.first} of {BUGS}"
    return bar.text, f"{bar.wanted} of {BUGS}", first, f"{held} of {len(rows)}", is_met


def page(found: ProvedZoo, looks: dict[str, str]) -> str:
    """The whole page."""
    rows = proof_bars.by_bug(found)
    return markdown.sections(
        "# First looks at C and C++ programs",
        f"Figures of {found.date}, made by `{found.command}` on Python {found.python}: bugs of "
        "[zoo/c](../zoo/c/README.md) in the shapes of public benchmarks. What the first hunt of "
        "each said was written down before anything was changed for it (`first_look` in its "
        "bug.toml); they are tuned on since. Each is hunted once, one at a time, with `--time 60`. "
        "One row per bug, of its most frequent failure.",
        bars(rows),
        markdown.table(COLUMNS, (_row(row, looks) for row in rows)),
    )


def _row(row: Proved, looks: dict[str, str]) -> tuple[object, ...]:
    return (
        row.bug,
        looks[row.bug],
        row.status if row.true else f"{row.status}, not the true cause",
        row.named,
        row.shape or None,
        row.patch or None,
        f"{row.patched_fail} of {row.patched_runs}" if row.patch else None,
        f"{row.seconds:.1f}",
    )


def _measured(bugs: Sequence[Bug], seed: int) -> tuple[Proved, ...]:
    rows: list[Proved] = []
    for bug in bugs:
        for row in measure(bug, seed, challenges=False):
            print(proof_page.line(row), flush=True)
            rows.append(row)
    return tuple(rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the bars and write the page."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.first_looks", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--page", default=None, help="where to write the page")
    parser.add_argument("bugs", nargs="*", help="only these; writes no page")
    options = parser.parse_args(arguments)
    bugs = [bug for bug in looked_at(ZOO_C) if not options.bugs or bug.name in options.bugs]
    words = arguments if arguments is not None else sys.argv[1:]
    found = ProvedZoo(
        command=" ".join(["python -m evaluation.first_looks", *words]),
        date=time.strftime("%Y-%m-%d"),
        python=platform.python_version(),
        rows=_measured(bugs, options.seed),
        twins={},
        wanted=WANTED_C,
        patched=PATCHED_C,
    )
    print(bars(proof_bars.by_bug(found)))
    to = options.page or (None if options.bugs else PAGE)
    if to:
        looks = {bug.name: bug.first_look for bug in bugs}
        Path(to).write_text(page(found, looks), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
