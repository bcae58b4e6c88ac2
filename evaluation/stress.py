# SPDX-License-Identifier: Apache-2.0
"""Classes with planted races: `python -m evaluation.stress`, which writes docs/stress-figures.md.

Every class of `zoo/classes` is stressed as it is, and so is its fixed twin. Those in `held_out`
were written when the search was finished, and are counted apart.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from evaluation.draws import REPOSITORY, ZOO
from evaluation.markdown import table

CLASSES = ZOO.parent / "classes"
HELD_OUT = CLASSES / "held_out"
PAGE = REPOSITORY / "docs" / "stress-figures.md"
FIXED = "_fixed"
# Half of the time of a command is for the search.
SEARCH_SECONDS = 30
FIXED_SECONDS = 1200


class Case(NamedTuple):
    """A class, in its file, and the file of its twin."""

    file: Path
    twin: Path

    @property
    def name(self) -> str:
        """That of its file."""
        return self.file.stem

    @property
    def subject(self) -> str:
        """The class: the last one of the file."""
        return re.findall(r"^class (\w+)", self.file.read_text("utf-8"), re.MULTILINE)[-1]

    @property
    def setup(self) -> Path | None:
        """Its setup file, if it has one."""
        file = self.file.with_name(f"{self.name}_setup.py")
        return file if file.exists() else None


class Row(NamedTuple):
    """What came of a class and of its twin."""

    case: Case
    broken: dict[str, Any]
    fixed: dict[str, Any] | None

    @property
    def found(self) -> bool:
        """Whether a program failed, and was found in time."""
        stress = self.broken["stress"]
        return bool(stress["file"]) and stress["seconds"] <= SEARCH_SECONDS

    @property
    def status(self) -> str:
        """Of the first finding of the first failure."""
        findings = [one for failure in self.broken["failures"] for one in failure["findings"]]
        return findings[0]["status"] if findings else "none"

    @property
    def is_silent(self) -> bool:
        """Whether nothing was reported of the twin."""
        return self.fixed is not None and not self.fixed["stress"]["file"]


def cases(folder: Path) -> list[Case]:
    """The classes of a folder that have a twin."""
    twins = sorted(folder.glob(f"*{FIXED}.py"))
    return [Case(one.with_name(one.name.replace(FIXED, "")), one) for one in twins]


def stressed(file: Path, case: Case, *options: str) -> dict[str, Any]:
    """The report of `unsnarl stress`, in a folder of its own; a twin goes by the same name."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        shutil.copy(file, folder / case.file.name)
        command = [sys.executable, "-m", "unsnarl", "stress", "--json", *options]
        if case.setup is not None:
            shutil.copy(case.setup, folder)
            command += ["--setup", case.setup.name]
        command.append(f"{case.name}:{case.subject}")
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if not done.stdout:
            raise RuntimeError(f"{case.name}: {done.stderr}")
        report: dict[str, Any] = json.loads(done.stdout)
        return report


def measured(case: Case, seed: int, runs: int) -> Row:
    """A class and its twin."""
    seeded = ("--seed", str(seed))
    broken = stressed(case.file, case, *seeded, "--time", str(2 * SEARCH_SECONDS))
    fixed = None
    if runs:
        options = ("--time", str(2 * FIXED_SECONDS), "--max-runs", str(runs))
        fixed = stressed(case.twin, case, *seeded, *options)
    return Row(case, broken, fixed)


def line(row: Row) -> str:
    """For the terminal."""
    stress = row.broken["stress"]
    twin = f"twin: {'silent' if row.is_silent else 'REPORTED'}" if row.fixed else "twin: not run"
    found = "found" if row.found else "MISSED"
    return f"{row.case.name:18} {found} after {stress['seconds']:.1f} s, {row.status}; {twin}"


def _cells(row: Row) -> list[str]:
    stress = row.broken["stress"]
    twin = row.fixed["stress"] if row.fixed else None
    return [
        row.case.name,
        (row.case.file.read_text("utf-8").split('"""')[1]).strip().rstrip("."),
        f"{stress['seconds']:.1f} s" if row.found else "no",
        str(stress["programs"]),
        str(stress["runs"]),
        row.status,
        f"{twin['runs']} runs, {'silent' if row.is_silent else 'reported'}" if twin else "not run",
    ]


def _section(title: str, rows: Sequence[Row], note: str) -> list[str]:
    found = sum(row.found for row in rows)
    silent = sum(row.is_silent for row in rows)
    confirmed = sum(row.status == "confirmed" for row in rows)
    heads = [
        "class",
        "what it is",
        "found after",
        "programs",
        "runs",
        "first finding",
        "fixed twin",
    ]
    return [
        f"## {title}",
        "",
        note,
        "",
        f"Found within {SEARCH_SECONDS} s: {found} of {len(rows)}. Explained by a confirmed "
        f"finding: {confirmed} of {len(rows)}. Silent twins: {silent} of {len(rows)}.",
        "",
        table(heads, [_cells(row) for row in rows]),
        "",
    ]


def page(tuned: Sequence[Row], held_out: Sequence[Row], runs: int, seed: int) -> str:
    """docs/stress-figures.md."""
    head = [
        "# Stress: figures",
        "",
        f"Written by `python -m evaluation.stress --seed {seed} --runs {runs}` on "
        f"{time.strftime('%Y-%m-%d')}, Python {platform.python_version()}, "
        f"{len(os.sched_getaffinity(0))} cores; do not edit. [stress.md](stress.md) says what is "
        "done.",
        "",
        "*Found after*: when the smallest failing program was there, before it was hunted. Times "
        "are those of a busy machine.",
        "",
    ]
    first = "Written together with the search, each with another shape of bug."
    later = (
        "Written when the search was finished. [zoo/classes](../zoo/classes/README.md) has the "
        "first look at them, which is the honest figure; three things were changed after it."
    )
    body = _section("Ten classes", tuned, first)
    if held_out:
        body += _section("Held out", held_out, later)
    return "\n".join([*head, *body]).rstrip() + "\n"


def _rows(folder: Path, options: argparse.Namespace) -> Iterator[Row]:
    for case in cases(folder):
        if not options.names or case.name in options.names:
            row = measured(case, options.seed, options.runs)
            print(line(row), flush=True)
            yield row


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.stress", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="CLASS", help="only these")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--runs", type=int, default=500, metavar="N", help="of the twins; 0: none")
    parser.add_argument("--page", type=Path, default=None, metavar="FILE")
    options = parser.parse_args(arguments)
    tuned, held_out = (list(_rows(folder, options)) for folder in (CLASSES, HELD_OUT))
    target = options.page or (None if options.names else PAGE)
    if target:
        target.write_text(page(tuned, held_out, options.runs, options.seed), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
