# SPDX-License-Identifier: Apache-2.0
"""One draw: a whole hunt of one bug with a seed of its own, and where the truth stands in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from evaluation.truth import Bug, Cause, judge
from unsnarl.model.finding import FailureReport, Report, RunCounts

REPOSITORY = Path(__file__).resolve().parents[1]
ZOO = REPOSITORY / "zoo" / "python"
TOP = 3
WANTED = 25  # runs of each label


class Placed(msgspec.Struct, frozen=True):
    """Where the first finding that tells a cause stands, and how many points it has."""

    rank: int
    points: int
    needed: int


class Draw(msgspec.Struct, frozen=True):
    """What one hunt gave; one place per cause of the bug."""

    bug: str
    seed: int
    runs: RunCounts
    seconds: float
    places: tuple[Placed | None, ...]
    complaint: str = ""

    @property
    def good(self) -> bool:
        """Whether every cause is told, concisely, in the top three."""
        return all(place is not None and place.rank <= TOP for place in self.places)

    @property
    def enough(self) -> bool:
        """Whether the wanted runs of both labels came together."""
        return self.runs.passed >= WANTED and self.runs.fail + self.runs.hang >= WANTED


def draw(bug: Bug, seed: int, *options: str) -> Draw:
    """Hunt a bug with the default budget in its own switching mode."""
    begin = time.perf_counter()
    try:
        report = hunt(bug, bug.command, "--seed", str(seed), "--switch", bug.switch, *options)
    except RuntimeError as error:
        nothing = (None,) * len(bug.causes)
        return Draw(bug.name, seed, RunCounts(0, 0, 0, 0), 0.0, nothing, str(error))
    seconds = time.perf_counter() - begin
    places = tuple(place(bug, cause, report.failures) for cause in bug.causes)
    return Draw(bug.name, seed, report.runs, seconds, places)


def hunt(bug: Bug, command: Sequence[str], *options: str) -> Report:
    """Run `unsnarl hunt` on a command in a copy of the bug's folder."""
    with _copy_of(bug) as folder:
        answer = folder / "answer.json"
        arguments = ["hunt", f"--json={answer}", *options, "--", *command]
        done = subprocess.run(
            [sys.executable, "-m", "unsnarl", *arguments],
            cwd=folder,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if not answer.exists():
            raise RuntimeError(f"{bug.name}: exit {done.returncode}\n{done.stdout}")
        return msgspec.json.decode(answer.read_bytes(), type=Report)


def place(bug: Bug, cause: Cause, failures: Sequence[FailureReport]) -> Placed | None:
    """The first finding that tells a cause, among those for the failure that it explains.

    Only the most frequent failure with the cause's signature counts: it is the one that is shown.
    """
    shown = next((one for one in failures if bug.cause_of(one.signature) == cause), None)
    for finding in shown.findings if shown else ():
        verdict = judge(cause, finding.points, bug.folder)
        if verdict.tells and verdict.concise:
            return Placed(finding.rank, verdict.points, verdict.needed)
    return None


@contextmanager
def _copy_of(bug: Bug) -> Iterator[Path]:
    """A folder with the bug's files and nothing of earlier hunts."""
    with tempfile.TemporaryDirectory(prefix="unsnarl-evaluation-") as folder:
        target = Path(folder) / bug.name
        ignored = shutil.ignore_patterns(".unsnarl", "__pycache__", ".pytest_cache")
        shutil.copytree(bug.folder, target, ignore=ignored)
        yield target


def _environment() -> dict[str, str]:
    """`python` and `pytest` in the bugs' commands mean those of this interpreter."""
    folder = str(Path(sys.executable).parent)
    return os.environ | {"PATH": os.pathsep.join((folder, os.environ.get("PATH", "")))}
