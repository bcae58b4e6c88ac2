# SPDX-License-Identifier: Apache-2.0
"""docs/pres.md: ReCBuLC's table III redone, ours and the paper's."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence

from evaluation import markdown
from evaluation.bars import Bar
from evaluation.pres_results import PAPER, PAPER_UNORDERED, Bug, Measured, Reproduced
from unsnarl.model.choices import Level, Order
from unsnarl.model.record import PRES_LEVELS

NAMES = {"sync": "SYNC", "func": "FUNC", "block": "BB", "access": "RW"}
NOT = "not"


def _rows(found: Measured, level: Level, order: Order) -> list[Reproduced]:
    return [row for bug in found.bugs for row in bug.of(level, order)]


def bars(found: Measured) -> list[Bar]:
    """The bars that the page shows."""

    def share(
        text: str, wanted: float, rows: Sequence[Reproduced], holds: Callable[[Reproduced], bool]
    ) -> Bar:
        return Bar(text, wanted, sum(map(holds, rows)), len(rows))

    func, access = _rows(found, "func", "clocks"), _rows(found, "access", "clocks")
    every = [row for bug in found.bugs for row in bug.records]
    reproduced = [row for row in every if row.tries]
    return [
        share("FUNC with clocks: reproduced", 1.0, func, lambda row: row.tries is not None),
        share("FUNC with clocks: within 10 tries", 0.95, func, lambda row: _within(row, 10)),
        share("access level with clocks: within 3 tries", 1.0, access, lambda row: _within(row, 3)),
        share("reported schedules that fail in 20 of 20 replays", 1.0, reproduced, _always),
        share("all levels and orders: reproduced", 0.95, every, lambda row: row.tries is not None),
    ]


def _within(row: Reproduced, most: int) -> bool:
    return row.tries is not None and row.tries <= most


def _always(row: Reproduced) -> bool:
    return row.replayed == 20


def _tries(rows: Iterable[Reproduced]) -> str | None:
    words = [NOT if row.tries is None else str(row.tries) for row in rows]
    return " ".join(words) or None


def line(bug: Bug) -> str:
    """One bug, for whoever watches."""
    parts = [
        f"{NAMES[level]} {_tries(bug.of(level, 'global')) or '-'}"
        f"/{_tries(bug.of(level, 'clocks')) or '-'}"
        for level in PRES_LEVELS
    ]
    how = "" if bug.alone else " (noise)"
    return f"{bug.language:6} {bug.name}{how}: " + ", ".join(parts)


def page(found: Measured) -> str:
    """The whole page."""
    silent = [_called(bug) for bug in found.bugs if not bug.records]
    noisy = [bug for bug in found.bugs if bug.records and not bug.alone]
    part = [_called(bug) for bug in found.bugs if 0 < len(_kinds(bug)) < 8]
    return markdown.sections(
        "# PRES: recorded failures reproduced",
        f"Written by `{found.command}` on {found.date}, Python {found.python}, in "
        f"{found.seconds:.0f} s on two cores that others used, too; clock ranges at most "
        f"{found.clocks} ticks wide.",
        INTRODUCTION,
        "## Bars",
        markdown.table(
            ("", "wanted", "found", ""),
            [
                (
                    bar.text,
                    f"{100 * bar.wanted:.0f} %",
                    markdown.share(bar.part, bar.whole),
                    "met" if bar.met else "missed",
                )
                for bar in bars(found)
            ],
        ),
        chance(found),
        "## Table III: tries",
        TRIES,
        _tries_table(found, "c"),
        _tries_table(found, "python"),
        "## Table III: additional unordered accesses",
        UNORDERED,
        _unordered_table(found),
        "## Ours and the paper's",
        PAPERS,
        _paper_table(found),
        "## What did not fail",
        f"In {len(noisy)} of {len(found.bugs)} bugs no run of the first 60 failed by itself; they "
        "were recorded with `--noise`. "
        + (f"Never, with noise either: {', '.join(silent)}. " if silent else "")
        + (f"Not at every level and order: {', '.join(part)}." if part else ""),
    )


def chance(found: Measured) -> str:
    """What random schedules would do without a record: a bar that they meet says little."""
    odds = [
        [bug.by_chance(tries) for bug in found.bugs if bug.random and bug.records]
        for tries in (10, 3, 1)
    ]
    if not odds[0]:
        return ""
    ten, three, one = (
        f"{100 * statistics.mean(p for p in some if p is not None):.0f} %" for some in odds
    )
    return (
        "These programs are small, and the gate's random schedules meet their failures often: "
        f"without any record they would within 10 tries in {ten} of the cases, within 3 in "
        f"{three}, with the first in {one} (the mean over the bugs, from "
        f"{max(bug.random for bug in found.bugs)} schedules of each; column *chance*)."
    )


def _called(bug: Bug) -> str:
    latent = ", which needs a free-threaded interpreter" if bug.switch == "free" else ""
    return f"{bug.name} ({bug.language}{latent if bug.language == 'python' else ''})"


def _kinds(bug: Bug) -> set[tuple[str, str]]:
    return {(row.level, row.order) for row in bug.records}


def _tries_table(found: Measured, language: str) -> str:
    python = language == "python"
    bugs = [b for b in found.bugs if (b.language == "python") == python and b.records]
    heads = [f"{NAMES[level]} {kind}" for level in PRES_LEVELS for kind in ("impl", "tc")]
    rows = [
        [
            bug.name,
            *(_tries(bug.of(lv, od)) for lv in PRES_LEVELS for od in ("global", "clocks")),
            _percent(100 * bug.met / bug.random if bug.random else None),
        ]
        for bug in bugs
    ]
    heads = ["Python" if python else "C, C++", *heads, "chance"]
    return markdown.table(heads, rows) if bugs else ""


def _share_of(rows: Sequence[Reproduced], which: str) -> float | None:
    shared = sum(row.unordered.shared for row in rows)
    open_ = sum(getattr(row.unordered, which) for row in rows)
    return 100 * open_ / shared if shared else None


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{share:.1f} %"


def _unordered_table(found: Measured) -> str:
    rows = []
    for name, python in (("C, C++", False), ("Python", True)):
        for level in PRES_LEVELS:
            some = [
                row
                for bug in found.bugs
                if (bug.language == "python") == python
                for row in bug.of(level, "clocks")
            ]
            total, clocks = _share_of(some, "total"), _share_of(some, "clocks")
            more = None if total is None or clocks is None else clocks - total
            cells = [_percent(total), _percent(clocks), _percent(more)]
            rows.append([name, NAMES[level], sum(r.unordered.shared for r in some), *cells])
    heads = ("", "level", "shared accesses", "open with one order", "open with clocks", "more")
    return markdown.table(heads, rows)


def _paper_table(found: Measured) -> str:
    ours = {bug.name: bug for bug in found.bugs if bug.language != "python"}
    rows = []
    for name, theirs in PAPER.items():
        if name not in ours:
            continue
        cells: list[object] = [name]
        for level, (impl, tc) in zip(PRES_LEVELS, theirs, strict=True):
            mine = [_tries(ours[name].of(level, order)) for order in ("global", "clocks")]
            cells.append("/".join(word or "–" for word in mine))
            cells.append(f"{impl or '–'}/{tc or '–'}")
        for level, paper in zip(PRES_LEVELS, PAPER_UNORDERED[name], strict=True):
            some = ours[name].of(level, "clocks")
            total, clocks = _share_of(some, "total"), _share_of(some, "clocks")
            more = "–" if total is None or clocks is None else f"{clocks - total:.1f}"
            cells.append(f"{more} ({paper:g})")
        rows.append(cells)
    heads = ["", *(f"{NAMES[lv]}{who}" for lv in PRES_LEVELS for who in ("", ", paper"))]
    return (
        markdown.table([*heads, *(f"UO {NAMES[lv]}" for lv in PRES_LEVELS)], rows) if rows else ""
    )


INTRODUCTION = """\
Every bug of the zoo was recorded in real parallel runs until one failed, at each level, with
one order of all events under a lock (PRES-impl: `--order global`) and with each core's own
clock (PRES-tc: `--order clocks`). Each record was then given to `unsnarl reproduce --with pres`;
every schedule found was replayed 20 times without its sketch. A *try* is one run along the
sketch; the 20 replays are not counted."""
TRIES = """\
Several numbers are several records. *not*: not within the budget. A dash: no run failed when it
was recorded this way. *chance*: the share of random schedules that fail as recorded."""
UNORDERED = """\
Of the accesses to cells that two threads touch and one changes, in the last try of each record:
the share that has a conflicting access whose order program order and sketch leave open. With
one order: the same events, numbered in the order of their corrected stamps. What comes before
an unfenced stamp may be seen up to 40,000 ticks later (docs/internals/recorder.md): what clocks
leave open beyond one order is mostly that, not the skew. It would be more without the noise,
which keeps events far apart: compare the levels of blocks and accesses, not the paper's figures,
whose programs ran without noise. The tries show that the base, which follows the corrected
stamps, makes up for it."""
PAPERS = """\
Tries as impl/tc. The paper's programs are whole applications, ours are kernels of the same
bugs; its figures are those of its table III (the wider range for unordered accesses, in
percent). *UO*: additional unordered accesses of clocks over one order, the paper's in brackets."""
