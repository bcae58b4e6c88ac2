# SPDX-License-Identifier: Apache-2.0
"""Programs with several causes of one failure: does one hunt name and confirm all of them?

    python -m evaluation.causes [--seed N] [--twins] [CASE ...] [-- OPTION ...]

Each program of zoo/causes is hunted once. A cause is named by a confirmed finding that has all of
its lines; findings that are confirmed and name none count against the program. With --twins, the
program with all causes repaired is hunted, too, and the one with only some of them.
Options after `--` are those of the hunts.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from evaluation.draws import copy_of
from unsnarl.model.report import FailureReport, Finding, Report

CASES = Path(__file__).parents[1] / "zoo" / "causes"
HALF, FIXED = "half", "fixed"
TWIN_OPTIONS = ("--no-confirm", "--max-runs", "300", "--fail", "1")


class CauseLines(NamedTuple):
    """One cause: what it is, and the texts of the source lines that name it."""

    what: str
    lines: tuple[str, ...]

    def is_in(self, finding: Finding) -> bool:
        """Whether a finding names it."""
        texts = {point.text for point in (*finding.explanation, *finding.points)}
        return texts.issuperset(self.lines)


class Case(NamedTuple):
    """A program with several causes."""

    name: str
    folder: Path
    form: str
    driver: str
    module: str
    causes: tuple[CauseLines, ...]

    @property
    def command(self) -> list[str]:
        """How it is run."""
        runner = ["python", "-m", "pytest", "-q"] if self.form == "pytest" else ["python"]
        return [*runner, self.driver]


class Found(NamedTuple):
    """What a hunt said of a program."""

    case: Case
    named: int
    confirmed: int
    said: str
    has_patch: bool
    seconds: float

    @property
    def is_whole(self) -> bool:
        """All causes, and nothing else, are named and confirmed."""
        return self.named == self.confirmed == len(self.case.causes) and bool(self.said)

    def __str__(self) -> str:
        whole = "all" if self.is_whole else "not all"
        patch = "patch" if self.has_patch else "no patch"
        counts = f"{self.named} of {len(self.case.causes)} named, {self.confirmed} confirmed"
        return (
            f"{self.case.name:12}{whole:9}{counts:28}{patch:10}{self.seconds:5.1f} s  {self.said}"
        )


def load() -> list[Case]:
    """All programs, by name."""
    return [_case(file) for file in sorted(CASES.glob("*/case.toml"))]


def _case(file: Path) -> Case:
    raw = tomllib.loads(file.read_text(encoding="utf-8"))
    causes = tuple(CauseLines(one["what"], tuple(one["lines"])) for one in raw["cause"])
    folder = file.parent
    return Case(folder.name, folder, raw["form"], raw["driver"], raw["module"], causes)


def hunt(case: Case, *options: str, version: str = "") -> Report:
    """The answer of one hunt, of the program or of one of its repaired versions."""
    with copy_of(case.folder) as folder:
        if version:
            text = (case.folder / version / case.module).read_bytes()
            (folder / case.module).write_bytes(text)
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        words = [sys.executable, "-m", "unsnarl", "hunt", "--jobs", "1", *options]
        done = subprocess.run(
            [*words, "--json", "answer.json", "--", *case.command],
            cwd=folder,
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        answer = folder / "answer.json"
        if not answer.exists():
            raise RuntimeError(f"{case.name}: {done.stderr}")
        return msgspec.json.decode(answer.read_bytes(), type=Report)


def judged(case: Case, report: Report) -> Found:
    """What the answer says of the most frequent failure."""
    none = FailureReport("", "", "", False, 0, 0.0, "", "", ())
    failure = report.failures[0] if report.failures else none
    confirmed = [one for one in failure.findings if one.status == "confirmed"]
    named = sum(any(cause.is_in(one) for one in confirmed) for cause in case.causes)
    has_patch = any(one.patch is not None and one.patch.works for one in confirmed)
    return Found(
        case, named, len(confirmed), failure.causes_note, has_patch, round(report.seconds, 1)
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Hunt, judge and print."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.causes", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="CASE", help="only these")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--twins", action="store_true", help="hunt the repaired versions, too")
    given = list(sys.argv[1:] if arguments is None else arguments)
    cut = given.index("--") if "--" in given else len(given)
    options = parser.parse_args(given[:cut])
    seed = ("--seed", str(options.seed))
    rows = []
    for case in load():
        if options.names and case.name not in options.names:
            continue
        rows.append(judged(case, hunt(case, *seed, *given[cut + 1 :])))
        print(rows[-1], flush=True)
        for version in (HALF, FIXED) if options.twins else ():
            fails = hunt(case, *seed, *TWIN_OPTIONS, version=version).runs.fail
            print(f"{'':12}{version}: {'fails' if fails else 'nothing fails'}", flush=True)
    whole = sum(row.is_whole for row in rows)
    print(f"all causes named and confirmed: {whole} of {len(rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
