# SPDX-License-Identifier: Apache-2.0
"""docs/reproducer-figures.md."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from evaluation.reproducer_results import Exported, ExportedZoo

REPRODUCED, KEPT = 0.85, 0.95
MOST_SECONDS = 0.15
INSTALLED = re.compile(r"/\S*/site-packages/")  # where that is on this machine


class Bar(NamedTuple):
    """So many of so many, and how many are wanted."""

    text: str
    part: int
    whole: int
    wanted: float

    @property
    def met(self) -> bool:
        """Whether enough of them."""
        return self.part >= self.wanted * self.whole


def line(row: Exported) -> str:
    """For the terminal."""
    if not row.confirmed:
        return f"{row.name:36} not confirmed"
    failed = f"{row.codes.count(1)}/{len(row.codes)}" if row.codes else "none"
    fixed = ",".join(map(str, row.fixed)) or "-"
    words = row.why or row.fixed_says or (row.kept_says if not row.is_kept else "")
    return f"{row.name:36} {failed:>6} fixed {fixed:6} kept {row.kept}/{row.kept_fixed} {words}"


def bars(measured: ExportedZoo) -> list[Bar]:
    """What was to be reached."""
    confirmed = [row for row in measured.rows if row.confirmed]
    strict = [row for row in confirmed if row.zoo in ("python", "real")]
    zoo = [row for row in confirmed if row.zoo in ("python", "users")]
    timed = [row for row in confirmed if row.seconds is not None]
    return [
        Bar(
            "the reproducer fails every time and exits with 0 on the twin (zoo/python, zoo/real)",
            _count(strict, lambda row: row.reproduces), len(strict), REPRODUCED,
        ),
        Bar(
            "the kept interleaving fails on the bug and passes on the twin (zoo/python, zoo/users)",
            _count(zoo, lambda row: row.is_kept), len(zoo), KEPT,
        ),
        Bar(
            f"replaying it takes at most {MOST_SECONDS * 1000:.0f} ms of processor time beyond the "
            "test's own",
            _count(timed, lambda row: (row.seconds or 0) <= MOST_SECONDS), len(timed), 1.0,
        ),
    ]  # fmt: skip


def _count(rows: Sequence[Exported], good: Callable[[Exported], bool]) -> int:
    return sum(map(good, rows))


def page(measured: ExportedZoo) -> str:
    """The whole page."""
    rows = [
        "# Reproducers and kept interleavings, measured",
        "",
        f"Made by `python -m evaluation.reproducers` on {measured.date}, CPython "
        f"{measured.python}, {measured.cores} cores.",
        f"A reproducer is run {measured.runs} times on the bug and three times on its fixed twin, "
        "on the plain interpreter.",
        "",
        "| what | so many | wanted |",
        "|---|---|---|",
        *(
            f"| {one.text} | {one.part} of {one.whole} | {one.wanted:.0%} |"
            for one in bars(measured)
        ),
        "",
        "Only confirmed findings count; the others have no proof to export. Times are processor "
        "time, the least of three: of a replay on the twin, with the process that is started for "
        "it, beyond the command's own; of the command; and of an interpreter that does nothing, "
        "which says how busy the machine was (it takes 12 to 20 ms on a quiet one).",
        *([measured.note] if measured.note else []),
        "",
        "| bug | reproducer fails | on the twin | kept: bug | twin | ms: replay | command | bare "
        "Python | remark |",
        "|---|---|---|---|---|---|---|---|---|",
        *_rows(measured),
    ]
    return "\n".join(rows) + "\n"


def _rows(measured: ExportedZoo) -> Iterator[str]:
    for row in measured.rows:
        name = f"{row.zoo}/{row.name}"
        if not row.confirmed:
            yield f"| {name} | | | | | | | | not confirmed |"
            continue
        failed = f"{row.codes.count(1)}/{len(row.codes)}" if row.codes else "none"
        fixed = ", ".join(map(str, row.fixed))
        remark = row.why or row.fixed_says or ("" if row.is_kept else row.kept_says)
        cells = (name, failed, fixed, row.kept, row.kept_fixed, *_times(row), remark)
        yield "| " + " | ".join(_cell(one) for one in cells) + " |"


def _times(row: Exported) -> list[str]:
    seconds = (row.seconds, row.command_seconds, row.start_seconds)
    return ["" if one is None else f"{one * 1000:.0f}" for one in seconds]


def _cell(text: str) -> str:
    text = INSTALLED.sub("", str(text))
    return text.replace("|", "\\|").replace("\n", " ")[:200]
