# SPDX-License-Identifier: Apache-2.0
"""docs/proofs.md: the bars of the proofs, bug by bug."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from evaluation import markdown, proof_bars
from evaluation.bars import Bar
from evaluation.proof_results import Proved, ProvedZoo

COLUMNS = (
    "bug",
    "verdict",
    "true cause first",
    "lines",
    "all true points",
    "orders",
    "trials to find them",
    "fresh runs that fail",
    "nearest passing run differs in",
    "fix is the true one",
    "fails, deadlocks with it",
    "patch",
    "fails when it is applied",
    "decoys",
    "the ranking's own wrong answers",
    "wrong regions rejected",
    "seconds",
    "of these hunting, testing, minimising, fixing",
)
NOT_CONFIRMED = ("refuted", "inconclusive", "infeasible")


def bars(found: ProvedZoo) -> list[Bar]:
    """What a hunt should show; C and C++ have a first bar of their own."""

    def share(text: str, wanted: float, holds: Callable[[Proved], bool]) -> Bar:
        return Bar(text, wanted, sum(map(holds, found.rows)), len(found.rows))

    quiet = [not confirmed for confirmed in found.twins.values()]
    times = [row.seconds for row in found.rows]
    fast = statistics.median(times) < 10 if times else False
    return [
        share("true cause confirmed", found.wanted, lambda row: row.confirmed),
        share("no decoy confirmed", 1.0, _sees_through),
        share("no wrong answer of the ranking confirmed", 1.0, _rejects),
        Bar("fixed twins that confirm nothing", 1.0, sum(quiet), len(quiet)),
        share("explanation of at most 8 lines", 0.9, lambda row: row.lines <= 8),
        share("explanation with every true point", 0.9, lambda row: row.explains),
        share("at most 5 constraints", 0.95, lambda row: _few(row, 5)),
        share("at most 3 constraints", 0.7, lambda row: _few(row, 3)),
        share("found in at most 300 replays", 1.0, lambda row: row.searched <= 300),
        share("fails in 100 of 100 fresh runs under them", 1.0, lambda row: row.certain),
        share("the fix is the true one and helps", 0.85, lambda row: row.is_fixed),
        *patch_bars(found),
        Bar(
            "planted wrong regions rejected",
            1.0,
            sum(row.rejected for row in found.rows),
            sum(row.planted for row in found.rows),
        ),
        share("proved in less than 30 s", 1.0, lambda row: row.seconds < 30),
        Bar("median below 10 s", 1.0, int(fast), 1),
    ]


def patch_bars(found: ProvedZoo) -> list[Bar]:
    """One patch per bug is applied; what is shown must hold."""
    first = {row.bug: row for row in reversed(found.rows)}
    shown = [row for row in first.values() if row.patch]
    right = sum(row.is_patched for row in shown)
    return [
        Bar("a patch with which nothing fails", found.patched, right, len(first)),
        Bar("no wrong patch shown: 1000 runs each", 1.0, right, len(shown)),
    ]


def _sees_through(row: Proved) -> bool:
    return bool(row.decoys) and all(status in NOT_CONFIRMED for status in row.decoys)


def _rejects(row: Proved) -> bool:
    """Where the ranking has no wrong answer, there is nothing to reject."""
    return "confirmed" not in row.wrong


def _few(row: Proved, most: int) -> bool:
    return row.certain and row.orders is not None and row.orders <= most


def line(row: Proved) -> str:
    """One row for the terminal."""
    spent = " ".join(f"{kind} {seconds:.1f}" for kind, seconds in row.timings.items())
    return (
        f"{row.bug:13}{row.status:13}named {row.named:d} {row.shape or 'no shape'}, "
        f"true {row.true:d} lines {row.lines} explains {row.explains:d} "
        f"orders {row.orders} in {row.searched} ({row.reproduced}/{row.tries}) near {row.nearest} "
        f"fix {row.fix:d} {row.fix_fail}+{row.fix_deadlocks}/{row.fix_runs} "
        f"patch {row.patch or None} {row.patched_fail}/{row.patched_runs} "
        f"decoys {','.join(row.decoys)} wrong answers {','.join(row.wrong)} "
        f"regions {row.rejected}/{row.planted} "
        f"{row.seconds:.1f} s ({spent})"
    )


def page(found: ProvedZoo) -> str:
    """The whole page."""
    times = sorted(row.seconds for row in found.rows)
    wrong = sum(len(row.wrong) for row in found.rows)
    return markdown.sections(
        "# Proofs",
        f"Figures of {found.date}, made by `{found.command}` on Python {found.python}: every bug "
        "of the [zoo](../zoo/README.md) hunted once, one at a time, with the experiments that "
        "end a hunt. Decoys are planted: orders that failing and passing runs have in equal "
        "shares. Wrong answers are the ranking's own: its first three that have no order of the "
        f"cause in them, {wrong} in all.",
        markdown.table(("bar", "wanted", "measured", "met"), [bar.cells() for bar in bars(found)]),
        f"From command to answer: median {statistics.median(times):.1f} s, at most "
        f"{times[-1]:.1f} s."
        if times
        else "",
        markdown.table(COLUMNS, [_cells(row) for row in found.rows]),
        proof_bars.section(found),
    )


def _cells(row: Proved) -> tuple[object, ...]:
    return (
        row.bug,
        row.status,
        row.true,
        row.lines,
        row.explains,
        row.orders,
        row.searched,
        f"{row.reproduced} of {row.tries}",
        row.nearest,
        row.fix,
        f"{row.fix_fail}, {row.fix_deadlocks} of {row.fix_runs}",
        row.patch or None,
        f"{row.patched_fail} of {row.patched_runs}",
        ", ".join(row.decoys),
        ", ".join(row.wrong) or None,
        f"{row.rejected} of {row.planted}",
        f"{row.seconds:.1f}",
        ", ".join(f"{seconds:.1f}" for seconds in row.timings.values()),
    )
