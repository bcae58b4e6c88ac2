# SPDX-License-Identifier: Apache-2.0
"""Shapes of kept reports, named anew: `python -m evaluation.shapes [CASE...]`.

`python -m evaluation.real --only-hunt` keeps the report of each case, with the sources it names.
A change of the rules for shapes is judged on these at once, and nothing is hunted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from evaluation.kept_reports import KeptReport, load
from evaluation.real_cases import FOLDERS, RealCase, load_cases
from evaluation.real_environments import cache
from unsnarl.reports.program_text import ProgramText
from unsnarl.reports.shapes import shape_and_summary

KEPT = "report.json"  # behind the case and the seed


class Named(NamedTuple):
    """What a case's first finding was called when it was hunted, and what it is called now."""

    case: RealCase
    status: str
    before: str
    now: str
    summary: str

    @property
    def right(self) -> bool:
        """Whether it is one of the names that the case has."""
        return self.now in self.case.shapes

    def line(self) -> str:
        """One row; what has changed is marked."""
        verdict = "right" if self.right else "WRONG"
        change = f" (was {self.before or '–'})" if self.before != self.now else ""
        true = "" if self.right else f"; true: {', '.join(self.case.shapes)}"
        return f"{verdict}  {self.case.name:36}{self.status:14}{self.now or '–'}{change}{true}"


def named(case: RealCase, kept: KeptReport) -> Named:
    """The first finding, named by the rules of this checkout."""
    if kept.first is None:
        return Named(case, "–", "", "", "")
    failure, finding = kept.first
    shape, summary = shape_and_summary(failure, finding, ProgramText(kept.text))
    return Named(case, finding.status, finding.shape, shape, summary)


def all_named(cases: Sequence[RealCase], folder: Path) -> Iterator[Named]:
    """Every case that a report was kept of."""
    for case in cases:
        for file in sorted(folder.glob(f"{case.name}-*-{KEPT}")) if case.shapes else ():
            yield named(case, load(file))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what each is called, and how many are right."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.shapes", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="CASE", help="only these, and their sentences")
    parser.add_argument("--results", type=Path, default=cache() / "results", metavar="FOLDER")
    options = parser.parse_args(arguments)
    cases = load_cases(FOLDERS)
    if options.names:
        cases = [case for case in cases if case.name in options.names]
    rows = list(all_named(cases, options.results))
    for row in rows:
        print(row.line())
        if options.names:
            print(f"       {row.summary}")
    confirmed = [row for row in rows if row.status == "confirmed"]
    for some, text in ((rows, "all"), (confirmed, "confirmed")):
        was = sum(row.before in row.case.shapes for row in some)
        print(f"{text}: {sum(row.right for row in some)} of {len(some)} right; before {was}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
