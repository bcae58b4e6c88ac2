# SPDX-License-Identifier: Apache-2.0
"""docs/clap.md: what evaluation.clap measured, ours and the paper's."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from evaluation import markdown
from evaluation.orders import LIMIT, PAPER, Spent, times

LEVELS = ("FUNC", "LOOP", "FUNCLOOP")


class Row(NamedTuple):
    """One record, solved and replayed."""

    ending: str
    tries: int
    replayed: int
    same_switch: bool
    accesses: int
    seconds: float
    reads: int
    set_aside: int
    whole: float
    followed: int = 0  # runs along the recorded branches

    @property
    def is_reproduced(self) -> bool:
        """Whether its schedule always fails as recorded."""
        return self.ending == "reproduced"


class Bug(NamedTuple):
    """The records of one bug; None: it did not fail while it was recorded, or cannot be so."""

    name: str
    language: str
    values: Row | None
    branches: Row | None
    alone: Row | None  # branches, without any stamps


class Size(NamedTuple):
    """Figure 11 for one size of one program."""

    name: str
    accesses: int
    nost: Spent
    impl: Spent
    clocks: dict[str, Spent]
    ours: Spent
    ours_with_clocks: Spent


class Proper(NamedTuple):
    """CLAP proper at one size."""

    name: str
    accesses: int
    reads: int
    seconds: float
    without: float
    solved: bool


def page(
    bugs: Sequence[Bug], sizes: Sequence[Size], proper: Sequence[Proper], command: str, took: float
) -> str:
    """The whole page."""
    return markdown.sections(
        "# CLAP: recorded failures solved",
        f"Figures of {time.strftime('%Y-%m-%d')}, made by `{command}` on Python "
        f"{platform.python_version()} in {took / 60:.0f} minutes. Every bug of the "
        "[zoo](../zoo/README.md) is recorded with noise until it fails; the record is solved, the "
        "order replayed under the gate, and an order that fails as recorded is replayed 20 more "
        "times. Only 20 of 20 count as reproduced.",
        "## Which failures are reproduced",
        _counts(bugs),
        markdown.table(
            ("bug", "language", "from values", "accesses", "solving", "from branches", "runs along "
             "them", "reads that decide", "solving", "from branches, without stamps"),
            map(_cells, bugs),
        ),
        "*1 try* is one run under the gate along a solved order; *runs along them* are those "
        "along the recorded branches, which show what there was to read; non-integer values are "
        "searched for in them. *free*: the schedule switches threads where the "
        "interpreter that made the record would not. *Reads that decide* are those on which a path "
        "condition depends; where there are none, recorded locks and non-integer values decide. "
        "*Without stamps*: only each thread's own branches and locks are used, as in CLAP itself.",
        "## Solving times by size (figure 11)",
        f"Orders from values. As in the paper, relative to NOST; z3 had {LIMIT:.0f} s. Each size "
        "is recorded once with `--level funcloop --values --fenced`: FUNC uses the stamps of locks "
        "and of the entries and exits of functions, LOOP those of locks and of loop turns (the "
        "paper's also of loop entries and exits), FUNCLOOP all. *Saved* is what the clocks "
        "save of CLAP-impl's time, at the slowest and at the fastest level.",
        _figure(sizes),
        "CLAP proper, from branches: seconds of z3 and our own solver together.",
        markdown.table(
            ("program", "accesses", "reads that decide", "with stamps, s", "without, s", "solved"),
            [(p.name, p.accesses, p.reads, p.seconds, p.without, p.solved) for p in proper],
        ),
        "ReCBuLC says of its own programs (figure 11, section V.B):",
        markdown.table(("", "paper"), PAPER),
        "docs/orders.md has the figure for longer, synthetic runs; docs/internals/reproduce.md "
        "says how it works and where it departs from CLAP.",
    )  # fmt: skip


def _counts(bugs: Sequence[Bug]) -> str:
    def share(rows: Sequence[Row | None]) -> str:
        known = [row for row in rows if row is not None]
        return f"{sum(row.is_reproduced for row in known)} of {len(known)}"

    c = [bug for bug in bugs if bug.language != "python"]
    python = [bug for bug in bugs if bug.language == "python"]
    by_symbols = [
        bug for bug in python if bug.branches and bug.branches.is_reproduced and bug.branches.reads
    ]
    return (
        f"From values: {share([bug.values for bug in c])} in C and C++, "
        f"{share([bug.values for bug in python])} in Python (of those that failed while they were "
        f"recorded). From branches: {share([bug.branches for bug in python])}, "
        f"{len(by_symbols)} of them by conditions on integers; without any stamps "
        f"{share([bug.alone for bug in python])}."
    )


def _cells(bug: Bug) -> tuple[object, ...]:
    def tries_of(row: Row | None) -> str | None:
        if row is None:
            return None
        if not row.is_reproduced:
            return row.ending
        tries = f"{row.tries} tr{'y' if row.tries == 1 else 'ies'}"
        return tries if row.same_switch else f"{tries}, free"

    def of(row: Row | None, field: Callable[[Row], object]) -> object:
        return None if row is None else field(row)

    def seconds(row: Row) -> str:
        return f"{1000 * row.seconds:.0f} ms"

    return (
        bug.name,
        bug.language,
        tries_of(bug.values),
        of(bug.values, lambda row: row.accesses),
        of(bug.values, seconds),
        tries_of(bug.branches),
        of(bug.branches, lambda row: row.followed),
        of(bug.branches, lambda row: row.reads),
        of(bug.branches, seconds),
        tries_of(bug.alone),
    )


def _figure(sizes: Sequence[Size]) -> str:
    head = ("program", "accesses", "NOST, ms", "CLAP-impl", *(f"CLAP-tc {one}" for one in LEVELS))
    return markdown.table((*head, "saved", "ours, no clocks", "ours, FUNC"), map(_size, sizes))


def _size(size: Size) -> tuple[object, ...]:
    def parts(spent: Spent) -> str:
        return ("more than " if spent.late else "") + times(spent.seconds / size.nost.seconds)

    saved = [1 - spent.seconds / size.impl.seconds for spent in size.clocks.values()]
    return (
        size.name,
        size.accesses,
        f"{1000 * size.nost.seconds:.1f}",
        parts(size.impl),
        *(parts(size.clocks[level]) for level in LEVELS),
        f"{100 * min(saved):.0f} to {100 * max(saved):.0f} %",
        parts(size.ours),
        parts(size.ours_with_clocks),
    )
